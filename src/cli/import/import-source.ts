import type { RestRevision } from '../../core/rest-revisions.ts';
import { trimSlashes } from '../../core/text/trim-slashes.ts';
import { UsageError } from '../../core/usage-error.ts';
import { secretNamesIn } from '../../domain/secrets/secret-references.ts';
import type { Named } from '../records/kinds.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { NewerSchemas, Schemas } from '../shared/api-types.ts';
import { mergeShapes, revisionOf, type SourceEndpoint } from './import-bodies.ts';
import { withModels } from './import-models.ts';

/** The records of the other side, as its REST v2 returns them. */
export interface ImportSource {
  /** The newest revision that it speaks. */
  revision: RestRevision;
  volumes: readonly Schemas['NetworkVolume'][];
  registries: readonly Named[];
  /** Names only: no interface returns values. */
  secrets: string[];
  templates: readonly Schemas['Template'][];
  endpoints: readonly SourceEndpoint[];
  /** Sentences about what could not be read. */
  notes: string[];
}

/** Returns the base URL that paths are added to. Throws for anything but an HTTP URL. */
export function baseUrlOf(from: string): string {
  const url = trimSlashes(from.trim());
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`--from has '${from}', but must be the URL of a server, like https://api.example.com`);
  }
  const { username, password, search, hash } = new URL(url);
  if (username || password) throw new UsageError('--from must have no user name or password: give the key with --key');
  if (search || hash) throw new UsageError(`--from has '${from}', but must end with the path`);
  return url.replace(/\/v2$/, '').replace(/\/2026-08$/, '');
}

/** Reads everything that can be imported. Throws for a server that does not speak REST v2, and for a key without rights. */
export async function readSource(client: ApiClient): Promise<ImportSource> {
  const notes: string[] = [];
  const prefix = (await speaksBoth(client)) ? '/2026-08' : '';
  const path = (name: string) => `${prefix}/v2/${name}`;
  const listed = await readList<SourceEndpoint>(client, path('serverless'), 'endpoints');
  const shown: SourceEndpoint[] = listed.map(({ models: _, ...endpoint }) => endpoint); // a list has none: they are read one by one
  const endpoints =
    prefix === ''
      ? shown
      : await withModels(client, mergeShapes(await readOlder(client), shown as NewerSchemas['Endpoint'][]));
  const templates = await readList<Schemas['Template']>(client, path('templates'), 'templates');
  const volumes = await readList<Schemas['NetworkVolume']>(client, path('network-volumes'), 'networkVolumes');
  const registries = await readList(client, path('registries'), 'registries');
  const named = await readList(client, path('account/secrets'), 'secrets').catch((error: unknown) => {
    if (!(error instanceof ApiRefusal) || error.status < 400 || error.status >= 500) throw error;
    notes.push('The other side lists no secrets: only those that endpoints and templates reference are known.');
    return [];
  });
  const referenced = [...endpoints, ...templates].flatMap(({ env }) => secretNamesIn(envOf(env)));
  const tokens = endpoints.flatMap(({ models = [] }) => models.flatMap(({ tokenSecret }) => tokenSecret ?? []));
  const secrets = [...new Set([...named.map(({ name }) => name), ...referenced, ...tokens])];
  const revision = shown.some((record) => revisionOf(record) === '2026-08') ? '2026-08' : '2026-07';
  return { revision, endpoints, templates, volumes, registries, secrets, notes };
}

/** True for a Podyard server that has both revisions, unless the URL names the older one. */
async function speaksBoth(client: ApiClient): Promise<boolean> {
  if (client.target.url.endsWith('/2026-07')) return false;
  const description = await client
    .json<{ openapi?: unknown }>('GET', '/2026-08/v2/openapi.json')
    .catch(refusedOrNoJson);
  return typeof description?.openapi === 'string';
}

function refusedOrNoJson(error: unknown): undefined {
  const isExpected = error instanceof SyntaxError || (error instanceof ApiRefusal && error.status !== 0);
  if (!isExpected) throw error;
  return undefined;
}

function readOlder(client: ApiClient): Promise<Schemas['Endpoint'][]> {
  return readList(client, '/2026-07/v2/serverless', 'endpoints');
}

/** Reads a list of records of the other side. Only ids and names are checked: the rest may be anything. */
async function readList<T extends Named>(client: ApiClient, path: string, name: string): Promise<T[]> {
  const answer = await client.json<Record<string, unknown> | undefined>('GET', path).catch((error: unknown) => {
    if (error instanceof ApiRefusal && error.status >= 400) throw atSource(client, path, error);
    if (error instanceof SyntaxError) throw notRestV2(client, path, 'JSON');
    throw error;
  });
  const list: unknown = answer?.[name];
  if (!Array.isArray(list) || !list.every(isRecord)) throw notRestV2(client, path, `a list of ${name}`);
  return list as T[];
}

function isRecord(value: unknown): boolean {
  const { id, name } = (value ?? {}) as { id?: unknown; name?: unknown };
  return typeof id === 'string' && typeof name === 'string';
}

function atSource(client: ApiClient, path: string, refusal: ApiRefusal): ApiRefusal {
  return new ApiRefusal(refusal.status, `${client.target.url}${path} answered: ${refusal.message}`);
}

function notRestV2(client: ApiClient, path: string, what: string): Error {
  return new Error(`${client.target.url}${path} did not answer with ${what}: --from must be a server of REST v2`);
}

function envOf(env: unknown): Record<string, string> {
  const entries = Object.entries((env ?? {}) as object).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(entries);
}

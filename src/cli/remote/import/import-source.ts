import { isRestRevision, type RestRevision } from '../../../core/rest-revisions.ts';
import { trimSlashes } from '../../../core/trim-slashes.ts';
import { secretNamesIn } from '../../../domain/secrets/secret-references.ts';
import { type ApiClient, ApiRefusal } from '../api-client.ts';
import type { Wire } from '../records.ts';

/** What the other side has, as its REST v2 answers it. */
export interface ImportSource {
  /** The shape that its endpoints and templates have. */
  revision: RestRevision;
  volumes: Wire[];
  registries: Wire[];
  /** Names only: no interface returns values. */
  secrets: string[];
  templates: Wire[];
  endpoints: Wire[];
  /** What could not be read. */
  notes: string[];
}

/** Returns the base URL that paths with `/v2` are added to. Throws for what is no URL of HTTP. */
export function baseUrlOf(from: string): string {
  const url = trimSlashes(from.trim());
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new Error(`--from has '${from}', but must be the URL of a server, like https://api.example.com`);
  }
  const { username, password, search, hash } = new URL(url);
  if (username || password) throw new Error('--from must have no user name or password: give the key with --key');
  if (search || hash) throw new Error(`--from has '${from}', but must end with the path`);
  return url.replace(/\/v2$/, '');
}

/** Reads everything that can be imported. Throws for a server that does not speak REST v2, and for a key without rights. */
export async function readSource(client: ApiClient): Promise<ImportSource> {
  const notes: string[] = [];
  const prefix = await findPrefix(client);
  const path = (name: string) => `${prefix}/v2/${name}`;
  const endpoints = await readList(client, path('serverless'), 'endpoints');
  const templates = await readList(client, path('templates'), 'templates');
  const volumes = await readList(client, path('network-volumes'), 'networkVolumes');
  const registries = await readList(client, path('registries'), 'registries');
  const listed = await readList(client, path('account/secrets'), 'secrets').catch((error: unknown) => {
    if (!(error instanceof ApiRefusal) || error.status < 400 || error.status >= 500) throw error;
    notes.push('The other side lists no secrets: only those that endpoints and templates reference are known.');
    return [];
  });
  const referenced = [...endpoints, ...templates].flatMap(({ env }) => secretNamesIn(envOf(env)));
  const secrets = [...new Set([...listed.map(({ name }) => name as string), ...referenced])];
  return { revision: recognize(endpoints, templates), endpoints, templates, volumes, registries, secrets, notes };
}

/** A Podyard server shows everything in its newest revision. Empty: the other side has none, or its URL names one. */
async function findPrefix(client: ApiClient): Promise<string> {
  const last = new URL(client.target.url).pathname.split('/').at(-1) ?? '';
  if (isRestRevision(last)) return '';
  const prefix = '/2026-08';
  const description = await client
    .call<Wire>('GET', `${prefix}/v2/openapi.json`)
    .catch((error: unknown) => refusedOrNoJson(error));
  return typeof description?.openapi === 'string' ? prefix : '';
}

function refusedOrNoJson(error: unknown): undefined {
  const isExpected = error instanceof SyntaxError || (error instanceof ApiRefusal && error.status !== 0);
  if (!isExpected) throw error;
  return undefined;
}

async function readList(client: ApiClient, path: string, name: string): Promise<Wire[]> {
  const answer = await client.call<Wire | undefined>('GET', path).catch((error: unknown) => {
    if (error instanceof ApiRefusal && error.status >= 400) throw atSource(client, path, error);
    if (error instanceof SyntaxError) throw notRestV2(client, path, 'JSON');
    throw error;
  });
  const list: unknown = answer?.[name];
  if (!Array.isArray(list) || !list.every(isRecord)) throw notRestV2(client, path, `a list of ${name}`);
  return list;
}

function isRecord(value: unknown): value is Wire {
  const { id, name } = (value ?? {}) as { id?: unknown; name?: unknown };
  return typeof id === 'string' && typeof name === 'string';
}

function atSource(client: ApiClient, path: string, refusal: ApiRefusal): ApiRefusal {
  return new ApiRefusal(refusal.status, `${client.target.url}${path} answered: ${refusal.message}`);
}

function notRestV2(client: ApiClient, path: string, what: string): Error {
  return new Error(`${client.target.url}${path} did not answer with ${what}: --from must be a server of REST v2`);
}

/** The revisions have no member that tells them apart, only words: see docs/interface/revision-2026-08.md. */
function recognize(endpoints: readonly Wire[], templates: readonly Wire[]): RestRevision {
  const isNewer =
    endpoints.some(({ type }) => type === 'QUEUE' || type === 'LOAD_BALANCER') ||
    templates.some((template) => 'startSsh' in template);
  return isNewer ? '2026-08' : '2026-07';
}

function envOf(env: unknown): Record<string, string> {
  const entries = Object.entries((env ?? {}) as object).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(entries);
}

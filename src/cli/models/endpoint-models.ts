/** The models of an endpoint: shown and set, by a command or with other settings. */

import { bytesText } from '../../core/text/bytes-text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { createEndpoint } from '../endpoints/write-endpoint.ts';
import type { Endpoint } from '../records/kinds.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';

export type ModelRequest = Schemas['ReplaceEndpointModelsRequest']['models'][number];
export type EndpointModel = Schemas['EndpointModels']['models'][number];
export type ResolvedModel = Schemas['ResolvedModels']['models'][number];

/** Options that name models. */
export interface ModelOptions {
  model?: string[];
  modelTokenSecret?: string;
}

const COLUMNS: readonly Column<EndpointModel>[] = [
  ['MODEL', (r) => r.name],
  ['REVISION', (r) => r.revision],
  ['COMMIT', (r) => shortCommit(r.commit)],
  ['FILES', (r) => r.files],
  ['SIZE', (r) => bytesText(r.bytes)],
  ['TOKEN', (r) => r.tokenSecret],
  ['PROBLEM', (r) => r.problem],
];

/** Returns the models that options name; undefined: they name none. `--model ''` alone: an empty list. */
export function requestsOf({ model, modelTokenSecret }: ModelOptions): ModelRequest[] | undefined {
  if (model === undefined && modelTokenSecret !== undefined) throw new UsageError('--model-token-secret needs --model');
  return model
    ?.filter((source) => source !== '')
    .map((source) => ({ source, ...(modelTokenSecret !== undefined && { tokenSecret: modelTokenSecret }) }));
}

/** Returns what models stand for now, and the server's recipes. Throws the server's refusal. */
export function resolveModels(client: ApiClient, models: ModelRequest[]) {
  return client.call('post', '/v2/models/resolve', { body: { models } });
}

export async function readModels(client: ApiClient, id: string): Promise<EndpointModel[]> {
  return (await client.call('get', '/v2/serverless/{id}/models', { path: { id } })).models;
}

export async function writeModels(client: ApiClient, id: string, models: ModelRequest[]): Promise<EndpointModel[]> {
  return (await client.call('put', '/v2/serverless/{id}/models', { path: { id }, body: { models } })).models;
}

/** Creates an endpoint whose first release has the models. */
export async function createWithModels(
  client: ApiClient,
  body: Parameters<typeof createEndpoint>[1],
  models: ModelRequest[] = [],
): Promise<Endpoint> {
  return createEndpoint(client, { ...body, ...(models.length > 0 && { models }) });
}

export function showModels(
  models: EndpointModel[],
  name: string,
  { json }: { json?: boolean },
  output: CliOutput,
): void {
  const none = `${name} has no models. Set some: \`podyard models set ${name} hf:<owner>/<name>\`.`;
  showRecords(models, { columns: COLUMNS, none }, json, output);
}

/** Removes the models that have one of these names; without names, all. Throws for a name that none has. */
export async function removeModels(client: ApiClient, id: string, names: readonly string[]): Promise<EndpointModel[]> {
  if (names.length === 0) return writeModels(client, id, []);
  const models = await readModels(client, id);
  const wanted = names.map((name) => nameIn(name.replace(/^hf:/, '').replace(/[@#].*$/s, '')));
  const absent = wanted.find((name) => !models.some((model) => model.name === name));
  if (absent !== undefined) throw new Error(`the endpoint has no model '${absent}'`);
  const kept = models.filter(({ name }) => !wanted.includes(name));
  return writeModels(client, id, kept.map(pinnedRequest));
}

/** Asks for a model as it is: for the same commit, whatever its branch has meanwhile. */
export function pinnedRequest({ source, name, commit, include, exclude, tokenSecret }: EndpointModel): ModelRequest {
  const place = source.startsWith('hf:') ? `hf:${name}` : name;
  const isFile = !/^(?:hf|oci):/.test(source); // its source has the digest
  return { source: isFile ? source : `${place}@${commit}`, include, exclude, tokenSecret };
}

/** An artifact's name has no tag. */
function nameIn(reference: string): string {
  const colon = reference.indexOf(':', reference.lastIndexOf('/'));
  return reference.startsWith('oci:') && colon > 0 ? reference.slice(0, colon) : reference;
}

export function shortCommit(commit: string): string {
  return commit.replace(/^sha256:/, '').slice(0, 7);
}

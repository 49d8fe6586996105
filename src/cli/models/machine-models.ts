import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../core/errors.ts';
import { bytesText } from '../../core/text/bytes-text.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { type RecordTable, showRecords } from '../shared/show-records.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { type ModelRequest, pinnedRequest, readModels } from './endpoint-models.ts';

type MachineModel = Schemas['MachineModel'];

const TABLE: RecordTable<MachineModel> = {
  columns: [
    ['MODEL', ({ name }) => name],
    ['COMMIT', ({ commit }) => commit.replace(/^sha256:/, '').slice(0, 12)],
    ['SIZE', ({ bytes }) => bytesText(bytes)],
    ['STATE', stateText],
    ['PINNED', ({ pinned }) => (pinned ? 'yes' : 'no')],
    ['LAST USED', ({ usedAt }) => usedAt],
    ['IN USE', ({ inUse }) => (inUse ? 'yes' : 'no')],
    ['ENDPOINTS', ({ endpoints }) => endpoints.map(({ name }) => name).join(', ')],
    ['ID', ({ id }) => id.slice(0, 12)],
  ],
  none: 'No models on the machine yet: the first worker of an endpoint that has models fetches them.',
};
const POLL_MS = 1_000;

/** `1.2 GB of 14.0 GB, 210.0 MB/s, 61 s left`, or the state. */
function stateText({ state, fetch, problem }: MachineModel): string {
  if (problem !== null) return `failed: ${problem}`;
  if (fetch === null || fetch.totalBytes === 0) return state.toLowerCase();
  const left = fetch.secondsLeft === null ? '' : `, ${fetch.secondsLeft} s left`;
  return `${bytesText(fetch.bytes)} of ${bytesText(fetch.totalBytes)}, ${bytesText(fetch.bytesPerSecond)}/s${left}`;
}

async function listModels(client: ApiClient): Promise<MachineModel[]> {
  return (await client.call('get', '/v2/models')).models;
}

/** Prints the models on the machine, the last one used first, and how much of it they may take. */
export async function showStored(client: ApiClient, isJson: boolean | undefined, output: CliOutput): Promise<void> {
  const { models, room } = await client.call('get', '/v2/models');
  showRecords(models, TABLE, isJson, output);
  if (isJson || room === null) return;
  output.note(
    `Models take ${bytesText(room.usedBytes)} of ${bytesText(room.budgetBytes)}; ${bytesText(room.stuckBytes)} are pinned or in use.`,
  );
}

/** Removes the stored model with this name or the begin of its id, or ends its fetch. Throws if none or several have it. */
export async function freeStored(
  client: ApiClient,
  wanted: string,
  isJson: boolean | undefined,
  output: CliOutput,
): Promise<void> {
  const model = await findStored(client, wanted);
  await client.call('delete', '/v2/models/{id}', { path: { id: model.id } });
  if (isJson) output.print(jsonText(model));
  else if (model.state === 'STORED')
    output.note(`${model.name} leaves the machine, which frees up to ${bytesText(model.bytes)}.`);
  else output.note(`${model.name} is not fetched any more.`);
}

/** Has a stored model stay when room is needed, or leave then as others do. Throws if none or several have the name. */
export async function pinStored(
  client: ApiClient,
  { wanted, pinned, json }: { wanted: string; pinned: boolean; json?: boolean },
  output: CliOutput,
): Promise<void> {
  const { id } = await findStored(client, wanted);
  const model = await client.call('patch', '/v2/models/{id}', { path: { id }, body: { pinned } });
  if (json) output.print(jsonText(model));
  else if (pinned) output.note(`${model.name} stays on the machine until it is unpinned or removed.`);
  else output.note(`${model.name} leaves when room is needed and no worker uses it.`);
}

export interface FetchOptions {
  endpoint?: string;
  include?: string[];
  exclude?: string[];
  tokenSecret?: string;
  pin?: boolean;
  wait: boolean;
  json?: boolean;
}

/**
 * Has models fetched before a start needs them, and waits until they are there by default. `endpointId`: also those of an endpoint, at its
 * release's commits. Throws what the server says of one that cannot be fetched.
 */
export async function fetchAhead(
  client: ApiClient,
  { sources, endpointId, ...options }: FetchOptions & { sources: readonly string[]; endpointId: string | undefined },
  output: CommandOutput,
): Promise<void> {
  const { include, exclude, tokenSecret } = options;
  const patterns = { ...(include && { include }), ...(exclude && { exclude }), ...(tokenSecret && { tokenSecret }) };
  const named: ModelRequest[] = sources.map((source) => ({ source, ...patterns }));
  const owned = endpointId === undefined ? [] : (await readModels(client, endpointId)).map(pinnedRequest);
  const requests = [...named, ...owned];
  if (requests.length === 0)
    throw new UsageError('name a model, or with --endpoint an endpoint that has some: hf:<owner>/<name>');
  let models: MachineModel[] = [];
  for (const request of requests) {
    models.push(await client.call('post', '/v2/models', { body: { ...request, pinned: options.pin === true } }));
  }
  if (options.wait) models = await waitFor(client, models, output);
  if (options.json) return output.print(jsonText(models));
  for (const { name, state } of models) {
    output.note(
      state === 'STORED' ? `${name} is on the machine.` : `${name} is being fetched: \`podyard models stored\``,
    );
  }
}

/** Waits until all are there; Ctrl-C ends the wait, not the fetches. Throws for one that fails or is removed. */
async function waitFor(
  client: ApiClient,
  models: MachineModel[],
  { terminal, note }: CommandOutput,
): Promise<MachineModel[]> {
  const ids = models.map(({ id }) => id);
  let noted = '';
  for (;;) {
    const all = await listModels(client);
    const now = ids.flatMap((id) => all.find((one) => one.id === id) ?? []);
    const failed = now.find(({ state }) => state === 'FAILED');
    if (failed) throw new Failure('unprocessable', `${failed.name}: ${failed.problem}`);
    const gone = models.find(({ id }) => !now.some((one) => one.id === id));
    if (gone) throw new Failure('notFound', `${gone.name} was removed meanwhile`);
    const coming = now.filter(({ state }) => state === 'FETCHING');
    if (coming.length === 0) {
      terminal.progress('');
      return now;
    }
    const text = `fetching ${coming.map((one) => `${one.name}: ${stateText(one)}`).join('; ')}`;
    terminal.progress(text);
    const names = coming.map(({ name }) => name).join(', ');
    if (!terminal.isInteractive && names !== noted) note(`fetching ${names}`);
    noted = names;
    const stopped = await sleep(POLL_MS, false, { signal: terminal.interrupted }).catch(() => true);
    if (stopped) return now;
  }
}

async function findStored(client: ApiClient, wanted: string): Promise<MachineModel> {
  const found = (await listModels(client)).filter(({ id, name }) => name === wanted || id.startsWith(wanted));
  const [model] = found;
  if (!model) throw new Failure('notFound', `no model '${wanted}' is stored: podyard models stored lists them`);
  if (found.length > 1) throw new UsageError(`${found.length} stored models are '${wanted}': name one by its id`);
  return model;
}

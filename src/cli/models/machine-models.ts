import { Failure } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import { bytesText } from '../deploy/upload-files.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { type RecordTable, showRecords } from '../shared/show-records.ts';
import { jsonText } from '../terminal/terminal-text.ts';

type MachineModel = Schemas['MachineModel'];

const TABLE: RecordTable<MachineModel> = {
  columns: [
    ['MODEL', ({ name }) => name],
    ['COMMIT', ({ commit }) => commit.replace(/^sha256:/, '').slice(0, 12)],
    ['SIZE', ({ bytes }) => bytesText(bytes)],
    ['LAST USED', ({ usedAt }) => usedAt],
    ['IN USE', ({ inUse }) => (inUse ? 'yes' : 'no')],
    ['ENDPOINTS', ({ endpoints }) => endpoints.map(({ name }) => name).join(', ')],
    ['ID', ({ id }) => id.slice(0, 12)],
  ],
  none: 'No model is stored on the machine of the workers: the first start of an endpoint that has one fetches it.',
};

async function listModels(client: ApiClient): Promise<MachineModel[]> {
  return (await client.call('get', '/v2/models')).models;
}

/** Prints the models on the machine, the last one used first. */
export async function showStored(client: ApiClient, isJson: boolean | undefined, output: CliOutput): Promise<void> {
  showRecords(await listModels(client), TABLE, isJson, output);
}

/** Removes the stored model with this name or the begin of its id. Throws if none or several have it. */
export async function freeStored(
  client: ApiClient,
  wanted: string,
  isJson: boolean | undefined,
  output: CliOutput,
): Promise<void> {
  const found = (await listModels(client)).filter(({ id, name }) => name === wanted || id.startsWith(wanted));
  const [model] = found;
  if (!model) throw new Failure('notFound', `no model '${wanted}' is stored: podyard models stored lists them`);
  if (found.length > 1) throw new UsageError(`${found.length} stored models are '${wanted}': name one by its id`);
  await client.call('delete', '/v2/models/{id}', { path: { id: model.id } });
  if (isJson) output.print(jsonText(model));
  else output.note(`${model.name} leaves the machine, which frees up to ${bytesText(model.bytes)}.`);
}

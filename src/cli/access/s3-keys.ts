import { findRecord } from '../records/find-record.ts';
import { RECORDS } from '../records/kinds.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { type ConfirmOptions, confirmDeletion } from '../shared/command-shape.ts';
import { showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

/** Prints the access key id and the secret, a line each, for scripts. */
export async function createS3Key(
  client: ApiClient,
  options: { name: string; scope: string[]; expires?: Date; json?: boolean },
  output: CliOutput,
): Promise<void> {
  const scopes = await Promise.all(options.scope.map((scope) => withId(client, scope)));
  const body = { name: options.name, scopes, expiresAt: options.expires?.toISOString() ?? null };
  const key = await client.call('post', '/v2/account/s3-keys', { body });
  if (options.json) return output.print(jsonText(key));
  output.print(`${key.id}\n${key.secret}`);
  output.note(`The first line is the access key id, the second the secret, which is shown only once.
The endpoint URL is ${client.target.url}/s3; a bucket is the id of a volume.`);
}

/** Returns the scope with the id of the volume that it names. */
async function withId(client: ApiClient, scope: string): Promise<string> {
  const [, volume, access] = /^files\/(.+):(read|write)$/s.exec(scope) ?? [];
  if (volume === undefined) return scope;
  return `files/${(await findRecord(client, RECORDS.volumes, volume)).id}:${access}`;
}

const COLUMNS: readonly Column<Schemas['S3Key']>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['CREATED', ({ createdAt }) => createdAt],
  ['LAST USED', ({ lastUsedAt }) => lastUsedAt ?? 'never'],
  ['EXPIRES', ({ expiresAt }) => expiresAt ?? 'never'],
  ['SCOPES', ({ scopes }) => scopes.join(' ')],
];

export async function listS3Keys(client: ApiClient, { json }: { json?: boolean }, output: CliOutput): Promise<void> {
  const { s3Keys } = await client.call('get', '/v2/account/s3-keys');
  showRecords(
    s3Keys,
    { columns: COLUMNS, none: 'There are no S3 keys. Create one: `podyard s3-keys create <name>`.' },
    json,
    output,
  );
}

/** By id, or by a name that one key has. */
export async function revokeS3Key(
  client: ApiClient,
  options: ConfirmOptions & { id: string; json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const { id, name } = await findRecord(
    client,
    {
      ...{ one: 'the S3 key', all: 'S3 keys' },
      list: async () => (await client.call('get', '/v2/account/s3-keys')).s3Keys,
      get: async () => {
        throw new Error(`S3 key not found: '${options.id}'`);
      },
    },
    options.id,
  );
  await confirmDeletion(output, { what: `the S3 key ${name} (${id})`, name, id }, options);
  await client.call('delete', '/v2/account/s3-keys/{id}', { path: { id } });
  if (options.json) output.print(jsonText({ id, name, deleted: true }));
  else output.note(`S3 key ${id} is revoked.`);
}

import { messageOf } from '../../core/errors.ts';
import type { RestRevision } from '../../core/rest-revisions.ts';
import { didYouMean } from '../../core/text/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { ID } from '../records/find-record.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { type ConfirmOptions, confirmDeletion } from '../shared/command-shape.ts';
import { showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { AccessSide, KeyOwner, ScopedKind } from './access-side.ts';

interface KeyOptions {
  /** Absent: whose key is in use; on a database, `admin`. */
  user?: string;
  json?: boolean;
}

/** A scope of one record, by id or name: `invoke/<name>`, `<area>/<name>:read`. */
const OF_ONE = /^(?:(invoke|exec)\/(.+)|([a-z-]+)\/(.+):(read|write))$/s;

/** Throws the same sentence as the server for text that is not a scope. A scope may name its record instead of its id. */
export function checkScopes(texts: readonly string[]): void {
  try {
    for (const text of texts) parseScope(withRecord(text, 'x'));
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

function withRecord(scope: string, id: string): string {
  return scope.replace(OF_ONE, (_, kind, _name, area, _other, access) =>
    kind ? `${kind}/${id}` : `${area}/${id}:${access}`,
  );
}

/** Where the records are that a scope can name. Whole areas without records keep what they are given. */
const KINDS: Readonly<Record<string, readonly ScopedKind[]>> = {
  invoke: ['endpoints'],
  exec: ['pods', 'endpoints'],
  serverless: ['endpoints'],
  pods: ['pods'],
  templates: ['templates'],
  'network-volumes': ['volumes'],
  files: ['volumes'],
  registries: ['registries'],
};

/** Returns the scope with the id of the record that it names. */
async function withId(side: AccessSide, user: KeyOwner, scope: string): Promise<string> {
  const [, kind, name, area, other] = OF_ONE.exec(scope) ?? [];
  const idOrName = name ?? other;
  const kinds = KINDS[kind ?? area ?? ''];
  if (idOrName === undefined || kinds === undefined || ID.test(idOrName)) return scope;
  const found = await Promise.allSettled(kinds.map((one) => side.findRecordId(user, one, idOrName)));
  const ids = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (ids.length === 1) return withRecord(scope, ids[0]!);
  if (ids.length > 1)
    throw new Error(`a pod and an endpoint are named '${idOrName}': use an id, one of ${ids.join(', ')}`);
  throw (found[0] as PromiseRejectedResult).reason;
}

/** Prints only the secret on stdout, for scripts. */
export async function createKey(
  side: AccessSide,
  options: KeyOptions & { name: string; scope: string[]; expires?: Date; restRevision?: RestRevision },
  output: CliOutput,
): Promise<void> {
  const user = await userOf(side, options);
  const key = await side.createKey(user, {
    name: options.name,
    scopes: await Promise.all(options.scope.map((scope) => withId(side, user, scope))),
    expiresAt: options.expires?.toISOString() ?? null,
    restRevision: options.restRevision ?? null,
  });
  if (options.json) return output.print(jsonText(key));
  output.print(key.secret);
  output.note(`This is key ${key.id} of ${user.name}. It is shown only once.`);
}

const COLUMNS: readonly Column<Schemas['ApiKey']>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['CREATED', ({ createdAt }) => createdAt],
  ['LAST USED', ({ lastUsedAt }) => lastUsedAt ?? 'never'],
  ['MADE BY', ({ createdBy }) => createdBy && (createdBy.userName ?? 'somebody gone')],
  ['EXPIRES', ({ expiresAt, disabled }) => (disabled ? 'disabled' : (expiresAt ?? 'never'))],
  ['REVISION', ({ restRevision }) => restRevision ?? 'default'],
  ['SCOPES', ({ scopes }) => scopes.join(' ')],
];

const NO_KEY = 'There are no keys. Create one: `podyard keys create <name>`.';

export async function listKeys(side: AccessSide, options: KeyOptions, output: CliOutput): Promise<void> {
  const keys = await side.listKeys(await userOf(side, options));
  showRecords(keys, { columns: COLUMNS, none: NO_KEY }, options.json, output);
}

/** By id, or by a name that one key has. */
export async function revokeKey(
  side: AccessSide,
  options: KeyOptions & ConfirmOptions & { id: string },
  output: CommandOutput,
): Promise<void> {
  const user = await userOf(side, options);
  const keys = await side.listKeys(user);
  const found = keys.filter(({ id, name }) => id === options.id || name === options.id);
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(', ');
    throw new Error(`${found.length} keys are named '${options.id}': use an id, one of ${ids}`);
  }
  const [key] = found;
  if (!key) {
    const names = keys.flatMap(({ id, name }) => [id, name]);
    throw new Error(`API key not found: '${options.id}'${didYouMean(options.id, names)}`);
  }
  const { id, name } = key;
  await confirmDeletion(output, { what: `the key ${name} (${id}) of ${user.name}`, name, id }, options);
  await side.revokeKey(user, id);
  if (options.json) output.print(jsonText({ id, name, deleted: true }));
  else output.note(`Key ${id} is revoked.`);
}

function userOf(side: AccessSide, { user }: KeyOptions): Promise<KeyOwner> {
  return user === undefined ? side.findOwnUser() : side.findUser(user);
}

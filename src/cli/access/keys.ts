import { didYouMean } from '../../core/closest.ts';
import { messageOf } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import type { CliOutput, CommandOutput } from '../cli-pieces.ts';
import { type ConfirmOptions, confirmDeletion } from '../confirm.ts';
import type { Wire } from '../remote/records.ts';
import { type Column, formatTable } from '../table.ts';
import { jsonText } from '../terminal-text.ts';
import type { AccessSide } from './access-side.ts';

interface KeyOptions {
  /** Absent: whose key is in use; on a database, `admin`. */
  user?: string;
  json?: boolean;
}

/** The same sentence as the server's, as an error of the command line. */
export function checkScopes(texts: readonly string[]): void {
  try {
    texts.forEach(parseScope);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** Prints only the secret on stdout, for scripts. */
export async function createKey(
  side: AccessSide,
  options: KeyOptions & { name: string; scope: string[]; expires?: Date; restRevision?: string },
  output: CliOutput,
): Promise<void> {
  const user = await userOf(side, options);
  const key = await side.createKey(user, {
    name: options.name,
    scopes: options.scope,
    expiresAt: options.expires?.toISOString() ?? null,
    restRevision: options.restRevision ?? null,
  });
  if (options.json) return output.print(jsonText(key));
  output.print(key.secret);
  output.note(`This is key ${key.id} of ${user.name}. It is shown only once.`);
}

const COLUMNS: readonly Column<Wire>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['CREATED', ({ createdAt }) => createdAt],
  ['LAST USED', ({ lastUsedAt }) => lastUsedAt ?? 'never'],
  ['MADE BY', ({ createdBy }) => createdBy && (createdBy.userName ?? 'somebody gone')],
  ['EXPIRES', ({ expiresAt }) => expiresAt ?? 'never'],
  ['REVISION', ({ restRevision }) => restRevision ?? 'default'],
  ['SCOPES', ({ scopes }) => scopes.join(' ')],
];

export async function listKeys(side: AccessSide, options: KeyOptions, output: CliOutput): Promise<void> {
  const keys = await side.listKeys(await userOf(side, options));
  output.print(options.json ? jsonText(keys) : formatTable(COLUMNS, keys, output.screen));
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

function userOf(side: AccessSide, { user }: KeyOptions): Promise<Wire> {
  return user === undefined ? side.findOwnUser() : side.findUser(user);
}

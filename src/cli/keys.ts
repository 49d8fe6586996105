import { systemClock } from '../core/clock.ts';
import type { KeyId } from '../core/ids.ts';
import type { RestRevision } from '../core/rest-revisions.ts';
import { createApiKey } from '../domain/access/create-api-key.ts';
import { type ApiKey, listKeys } from '../domain/access/key-store.ts';
import { revokeApiKey } from '../domain/access/revoke-api-key.ts';
import { formatScope, parseScope } from '../domain/access/scopes.ts';
import { getUserByName } from '../domain/access/users.ts';
import type { Context } from '../domain/context.ts';
import type { CliOutput } from './cli-pieces.ts';
import { type Column, formatTable } from './table.ts';

/** Prints only the secret on stdout, for scripts. */
export async function createKey(
  context: Context,
  options: { user: string; name: string; scope: readonly string[]; expires?: Date; restRevision?: RestRevision },
  output: CliOutput,
): Promise<void> {
  const scopes = options.scope.map(parseScope);
  const user = await getUserByName(context.pool, options.user);
  const input = {
    userId: user.id,
    name: options.name,
    scopes,
    expiresAt: options.expires ?? null,
    restRevision: options.restRevision ?? null,
  };
  const { key, secret } = await createApiKey({ ...context, clock: systemClock }, input);
  output.print(secret);
  output.note(`This is key ${key.id} of ${user.name}. It is shown only once.`);
}

const COLUMNS: readonly Column<ApiKey>[] = [
  ['ID', (key) => key.id],
  ['NAME', (key) => key.name],
  ['CREATED', (key) => key.createdAt.toISOString()],
  ['EXPIRES', (key) => key.expiresAt?.toISOString() ?? 'never'],
  ['REVISION', (key) => key.restRevision ?? 'default'],
  ['SCOPES', (key) => key.scopes.map(formatScope).join(' ')],
];

export async function listUserKeys(context: Context, options: { user: string }, output: CliOutput): Promise<void> {
  const user = await getUserByName(context.pool, options.user);
  output.print(formatTable(COLUMNS, await listKeys(context.pool, user.id)));
}

export async function revokeKey(
  context: Context,
  options: { user: string; id: string },
  output: CliOutput,
): Promise<void> {
  const user = await getUserByName(context.pool, options.user);
  await revokeApiKey(context, { userId: user.id, keyId: options.id as KeyId });
  output.note(`Key ${options.id} is revoked.`);
}

import { formatRateQuotas, parseRateQuotas } from '../core/rate-quotas.ts';
import { createUser, getUserByName, listUsers } from '../domain/access/users.ts';
import type { Context } from '../domain/context.ts';
import { findUserRateLimit, type UserRateLimit, updateUserRateLimit } from '../domain/rate-limits/user-rate-limit.ts';
import type { CliOutput } from './cli-pieces.ts';
import { formatTable } from './table.ts';

/** Prints the new user's id. */
export async function createOneUser(
  context: Context,
  options: { name: string; email?: string },
  output: CliOutput,
): Promise<void> {
  const user = await createUser(context.pool, { name: options.name, email: options.email ?? null });
  output.print(user.id);
}

export async function listAllUsers(context: Context, output: CliOutput): Promise<void> {
  const users = await listUsers(context.pool);
  const rows = users.map((user) => [user.id, user.name, user.createdAt.toISOString(), user.email ?? '']);
  output.print(formatTable(['ID', 'NAME', 'CREATED', 'EMAIL'], rows));
}

/** Sets the limit when one is given, and prints what it is. */
export async function limitUser(
  context: Context,
  options: { name: string; limit: string | undefined },
  output: CliOutput,
): Promise<void> {
  const limit = options.limit === undefined ? undefined : parseLimit(options.limit);
  const user = await getUserByName(context.pool, options.name);
  if (limit !== undefined) await updateUserRateLimit(context.pool, user.id, limit);
  const current = await findUserRateLimit(context.pool, user.id);
  output.print(current === 'exempt' ? current : formatRateQuotas(current ?? {}) || 'default');
}

function parseLimit(text: string): UserRateLimit {
  if (text === 'default') return {};
  return text === 'exempt' ? text : parseRateQuotas('the limit', text);
}

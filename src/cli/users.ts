import { formatRateQuotas, parseRateQuotas } from '../core/rate-quotas.ts';
import { refuseUserBesideProcesses } from '../domain/access/refuse-shared-processes.ts';
import { createUser, getUserByName } from '../domain/access/users.ts';
import type { Context } from '../domain/context.ts';
import { listUserLimits, type UserLimits } from '../domain/quotas/user-limits.ts';
import { findUserRateLimit, type UserRateLimit, updateUserRateLimit } from '../domain/rate-limits/user-rate-limit.ts';
import type { CliOutput } from './cli-pieces.ts';
import { useOf } from './limit-table.ts';
import { type Column, formatTable } from './table.ts';

/** Prints the new user's id. */
export async function createOneUser(
  context: Context,
  options: { name: string; email?: string; allowInsecureProcesses: boolean },
  output: CliOutput,
): Promise<void> {
  if (!options.allowInsecureProcesses) await refuseUserBesideProcesses(context.pool);
  const user = await createUser(context.pool, { name: options.name, email: options.email ?? null });
  output.print(user.id);
}

const COLUMNS: readonly Column<UserLimits>[] = [
  ['ID', ({ user }) => user.id],
  ['NAME', ({ user }) => user.name],
  ['CREATED', ({ user }) => user.createdAt.toISOString()],
  ['ENDPOINTS', ({ usage, limits }) => useOf(usage.endpoints, limits.endpoints)],
  ['PODS', ({ usage, limits }) => useOf(usage.pods, limits.pods)],
  ['QUEUED', ({ usage, limits }) => useOf(usage.queuedJobs, limits.queuedJobs)],
  ['WORKERS', ({ usage, limits }) => useOf(usage.workers, limits.workers)],
  ['QUOTA', ({ quotas }) => quotas.workers.quota],
  ['BORROWED', ({ quotas }) => quotas.workers.borrowed],
  ['GPUS', ({ usage, limits }) => useOf(usage.gpus, limits.gpus)],
  ['QUOTA', ({ quotas }) => quotas.gpus.quota],
  ['BORROWED', ({ quotas }) => quotas.gpus.borrowed],
  ['EMAIL', ({ user }) => user.email ?? ''],
];

export async function listAllUsers(context: Context, output: CliOutput): Promise<void> {
  output.print(formatTable(COLUMNS, await listUserLimits(context.pool)));
}

/** Sets the limit, if given, and prints the current one. */
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

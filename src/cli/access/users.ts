import { setTimeout as sleep } from 'node:timers/promises';
import { formatRateQuotas, parseRateQuotas } from '../../core/rate-quotas.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { type ConfirmOptions, confirmDeletion } from '../shared/command-shape.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { AccessSide, User } from './access-side.ts';
import { useOf } from './limits.ts';

interface Json {
  json?: boolean;
}

/** Prints the new user's id on stdout, and their first key, which is shown only now, on stderr. */
export async function createUser(
  side: AccessSide,
  options: Json & { name: string; email?: string; admin?: boolean; key: boolean },
  output: CliOutput,
): Promise<void> {
  const { name, email = null } = options;
  const role = options.admin ? 'ADMIN' : 'USER';
  const user = await side.createUser({ name, email, role, key: options.key ? {} : null });
  if (options.json) return output.print(jsonText(user));
  output.print(user.userId);
  if (user.key) output.note(`The first key of ${name}, shown only once: ${user.key.secret}`);
}

const COLUMNS: readonly Column<User>[] = [
  ['ID', ({ userId }) => userId],
  ['NAME', ({ name }) => name],
  ['ROLE', ({ role }) => role.toLowerCase()],
  ['STATE', stateOf],
  ['CREATED', ({ createdAt }) => createdAt],
  ['ENDPOINTS', ({ usage, limits }) => useOf(usage.endpoints, limits.endpoints)],
  ['PODS', ({ usage, limits }) => useOf(usage.pods, limits.pods)],
  ['QUEUED', ({ usage, limits }) => useOf(usage.queuedJobs, limits.queuedJobs)],
  ['WORKERS', ({ usage, limits }) => useOf(usage.workers, limits.workers)],
  ['QUOTA', ({ quotas }) => quotas.workers.quota],
  ['BORROWED', ({ quotas }) => quotas.workers.borrowed],
  ['GPUS', ({ usage, limits }) => useOf(usage.gpus, limits.gpus)],
  ['QUOTA', ({ quotas }) => quotas.gpus.quota],
  ['BORROWED', ({ quotas }) => quotas.gpus.borrowed],
  ['EMAIL', ({ email }) => email ?? ''],
];

function stateOf({ suspension, removal }: User): string {
  if (removal) return 'being deleted';
  return suspension ? 'suspended' : 'active';
}

export async function listUsers(side: AccessSide, { json }: Json, output: CliOutput): Promise<void> {
  const users = await side.listUsers();
  output.print(json ? jsonText(users) : formatTable(COLUMNS, users, output.screen));
}

export async function showUser(side: AccessSide, { name }: { name: string }, output: CliOutput): Promise<void> {
  output.print(jsonText(await side.findUser(name)));
}

export async function updateUser(
  side: AccessSide,
  options: Json & { name: string; email?: string; role?: Lowercase<User['role']> },
  output: CliOutput,
): Promise<void> {
  const { userId } = await side.findUser(options.name);
  const { email, role } = options;
  const changes = {
    ...(email !== undefined && { email: email || null }),
    ...(role && { role: role.toUpperCase() as User['role'] }),
  };
  show(await side.updateUser(userId, changes), options, output);
}

export async function suspendUser(
  side: AccessSide,
  options: Json & { name: string; stop?: boolean; reason?: string },
  output: CliOutput,
): Promise<void> {
  const { userId } = await side.findUser(options.name);
  const how = { workloads: options.stop ? 'STOP' : 'KEEP', reason: options.reason ?? null } as const;
  show(await side.suspendUser(userId, how), options, output);
}

export async function resumeUser(side: AccessSide, options: Json & { name: string }, output: CliOutput): Promise<void> {
  const { userId } = await side.findUser(options.name);
  show(await side.resumeUser(userId), options, output);
}

/**
 * Prints a link with which a user sets their password, once; with `revoke`, makes the last one useless; with `removePassword`, takes the
 * password away.
 */
export async function inviteUser(
  side: AccessSide,
  options: Json & { name: string; hours: number; revoke?: boolean; removePassword?: boolean },
  output: CliOutput,
): Promise<void> {
  const { userId, name } = await side.findUser(options.name);
  if (options.removePassword) {
    await side.removePassword(userId);
    return output.note(`${name} signs in with no password or passkey any more.`);
  }
  if (options.revoke) {
    await side.revokeInvitation(userId);
    return output.note(`The invitation of ${name} is revoked.`);
  }
  const invitation = await side.inviteUser(userId, options.hours);
  if (options.json) return output.print(jsonText(invitation));
  output.print(invitation.url);
  const where = invitation.url.startsWith('/') ? "Put your server's address before it. " : '';
  output.note(`${where}Whoever opens this link first sets the password of ${name}, until ${invitation.expiresAt}.`);
}

function show(user: User, { json }: Json, output: CliOutput): void {
  const workloads = user.suspension ? `, workloads: ${user.suspension.workloads.toLowerCase()}` : '';
  if (json) output.print(jsonText(user));
  else output.note(`${user.name} is ${stateOf(user)} (${user.role.toLowerCase()}${workloads}).`);
}

const POLL_MS = 1_000;

/** Shows what would go, asks for the name, and begins the deletion; with `wait`, stays until it has ended. */
export async function deleteUser(
  side: AccessSide,
  options: Json & ConfirmOptions & { name: string; handOverTo?: string; wait?: boolean },
  output: CommandOutput,
): Promise<void> {
  const { userId, name } = await side.findUser(options.name);
  const newOwner = options.handOverTo === undefined ? null : await side.findUser(options.handOverTo);
  const plan = await side.planRemoval(userId, newOwner?.userId ?? null);
  const owned = inWords(plan.owned) || 'nothing';
  for (const { kind, from, to } of plan.renamed) output.note(`The ${kind} ${from} will be named ${to}.`);
  const what = newOwner
    ? `the user ${name}, and gives ${owned} to ${newOwner.name}`
    : `the user ${name}, with ${owned}`;
  await confirmDeletion(output, { what, name, id: userId }, options);
  const user = await side.removeUser(userId, newOwner?.userId ?? null);
  if (options.wait) await waitForEnd(side, userId, output);
  if (options.json) return output.print(jsonText(options.wait ? { userId, name, deleted: true } : user));
  output.note(
    options.wait
      ? `${name} is deleted.`
      : `${name} is being deleted; \`podyard users get ${userId}\` shows what is left.`,
  );
}

async function waitForEnd(side: AccessSide, userId: string, { terminal }: CommandOutput): Promise<void> {
  for (;;) {
    const user = await side.readRemoval(userId);
    terminal.progress(
      user === null ? '' : `left: ${inWords(user.removal?.remaining ?? {}) || 'the last minute of usage'}`,
    );
    if (user === null) return;
    await sleep(POLL_MS, undefined, { signal: terminal.interrupted });
  }
}

/** `2 endpoints, 1 pod` of `{ endpoints: 2, pods: 1, volumes: 0 }`. */
function inWords(counts: Record<string, number>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.map(([name, count]) => `${count} ${count === 1 ? singular(name) : name}`).join(', ');
}

function singular(name: string): string {
  return name === 'registries' ? 'registry' : name.replace(/s$/, '');
}

/** Sets the limit, if given, and prints the current one. */
export async function limitRate(
  side: AccessSide,
  options: Json & { name: string; limit: string | undefined },
  output: CliOutput,
): Promise<void> {
  const limit = options.limit === undefined ? undefined : parseLimit(options.limit);
  const { userId } = await side.findUser(options.name);
  if (limit !== undefined) await side.replaceRateLimit(userId, limit);
  const current = await side.readRateLimit(userId);
  if (options.json) return output.print(jsonText(current));
  const quotas = Object.fromEntries(Object.entries(current).filter(([, value]) => typeof value === 'number'));
  output.print(current.exempt ? 'exempt' : formatRateQuotas(quotas) || 'default');
}

function parseLimit(text: string): Schemas['UserRateLimit'] {
  const inherited = { exempt: false, minute: null, hour: null, day: null };
  if (text === 'default') return inherited;
  return text === 'exempt' ? { ...inherited, exempt: true } : { ...inherited, ...parseRateQuotas('the limit', text) };
}

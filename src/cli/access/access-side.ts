/**
 * Users and keys, either over the API of a server or in its database. Both return records as the API does, so that the commands
 * print the same.
 */
import type { Command } from 'commander';
import type { Flags } from '../../config.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { LimitChanges } from '../../domain/quotas/limit-store.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import { addDatabaseOptions } from '../shared/options.ts';

export type User = Schemas['UserAccount'];

/** Whose keys are meant. */
export interface KeyOwner {
  userId: string;
  name: string;
  /** True for the owner of the key in use, who need not be an admin. */
  isOwn?: boolean;
}

export interface NewUserBody {
  name: string;
  email: string | null;
  role: User['role'];
  /** Null: without a key. */
  key: null | object;
}

export interface NewKeyBody {
  name: string;
  scopes: string[];
  expiresAt: string | null;
  restRevision: Schemas['ApiKey']['restRevision'];
}

/** Kinds of records that a key can be restricted to one of. */
export type ScopedKind = 'endpoints' | 'pods' | 'templates' | 'volumes' | 'registries';

/** What a user's limits are changed and shown by; null: those of users without their own. */
type OfUser = string | null;

export interface AccessSide {
  listUsers(): Promise<User[]>;
  /** By name or id. Throws a sentence if there is none. */
  findUser(nameOrId: string): Promise<User>;
  /** Whose keys are meant when nobody is named: on a server, the owner of the key in use. */
  findOwnUser(): Promise<KeyOwner>;
  createUser(body: NewUserBody): Promise<Schemas['CreatedUser']>;
  updateUser(id: string, changes: Schemas['UpdateUserRequest']): Promise<User>;
  suspendUser(id: string, how: Schemas['SuspendUserRequest']): Promise<User>;
  resumeUser(id: string): Promise<User>;
  planRemoval(id: string, heirId: string | null): Promise<Schemas['RemovalPlan']>;
  removeUser(id: string, heirId: string | null): Promise<User>;
  /** Null once the user is deleted. */
  readRemoval(id: string): Promise<User | null>;
  listKeys(owner: KeyOwner): Promise<Schemas['ApiKey'][]>;
  /** Returns the id of a record of the user, by id or name. Throws a sentence if there is none, or several. */
  findRecordId(owner: KeyOwner, kind: ScopedKind, idOrName: string): Promise<string>;
  createKey(owner: KeyOwner, body: NewKeyBody): Promise<Schemas['CreatedApiKey']>;
  revokeKey(owner: KeyOwner, keyId: string): Promise<void>;
  readLimits(id: OfUser): Promise<Schemas['UserLimits'] | Schemas['InstallationLimits']>;
  updateLimits(id: OfUser, changes: LimitChanges): Promise<void>;
  readRateLimit(id: string): Promise<Schemas['UserRateLimit']>;
  replaceRateLimit(id: string, limit: Schemas['UserRateLimit']): Promise<void>;
}

export function noSuchUser(nameOrId: string): string {
  return `there is no user named '${nameOrId}'; \`podyard users list\` shows all`;
}

export type SideOptions = Common & Omit<Flags, 'restRevision'>;

/** What `--help` of every such command ends with. */
const WHERE = `
Works on the server that you are signed in to: the current context, or PODYARD_URL and PODYARD_API_KEY. With --data-dir or
--database-url, and where you are not signed in, it works on the database of a server on this machine, which needs no key.`;

/** Adds what chooses between a server and a database. */
export function addSideOptions(command: Command): Command {
  return addDatabaseOptions(addCommon(command)).addHelpText('after', WHERE);
}

/** Runs `work` on the server or the database that options and environment name. */
export async function withSide<T>(
  pieces: CliPieces,
  options: SideOptions,
  work: (side: AccessSide) => Promise<T>,
): Promise<T> {
  if (await isOnServer(pieces, options)) {
    const [client, { ServerSide }] = await Promise.all([connect(pieces, options), import('./server-side.ts')]);
    return work(new ServerSide(client));
  }
  const { DatabaseSide } = await import('./database-side.ts');
  const { json: _, context: __, ...flags } = options;
  return pieces.withDatabase(flags, (context) =>
    work(new DatabaseSide(context, pieces.allowsInsecureProcesses(flags))),
  );
}

async function isOnServer({ terminal }: CliPieces, options: SideOptions): Promise<boolean> {
  const isDatabase = options.dataDir !== undefined || options.databaseUrl !== undefined;
  if (isDatabase && options.context !== undefined) {
    throw new UsageError('--context names a server, --data-dir and --database-url a database: use one of them');
  }
  if (isDatabase || options.context !== undefined) return !isDatabase;
  if (terminal.env.PODYARD_URL || terminal.env.PODYARD_API_KEY) return true;
  const { readContexts } = await import('../account/contexts.ts');
  return (await readContexts(terminal)).current !== null;
}

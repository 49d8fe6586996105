import { type Command, Option } from 'commander';
import type { Flags } from '../../config/config.ts';
import { REST_REVISIONS, type RestRevision } from '../../core/rest-revisions.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Role } from '../../domain/access/roles.ts';
import { LIMIT_NAMES } from '../../domain/quotas/limits.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addConfirm,
  type Common,
  type ConfirmOptions,
  connect,
  onDatabase,
  requireConfirmable,
} from '../shared/command-shape.ts';
import { addDatabaseOptions, addName, findName, parseCount, parseTime, requireName } from '../shared/options.ts';
import type { AccessSide } from './access-side.ts';
import type { KeyUpdateOptions } from './change-keys.ts';

const users = () => import('./users.ts');

interface KeyFlags extends SideOptions {
  user?: string;
  name?: string;
  scope: string[];
  expires?: Date;
  restRevision?: RestRevision;
}

type NewUserOptions = SideOptions & { name?: string; email?: string; admin?: boolean; key: boolean };

function addUserOption(command: Command): Command {
  return addSideOptions(command).option(
    '--user <name>',
    'user whose keys are meant, for admins (default: yourself; on a database, admin)',
  );
}

export function addKeys(program: Command, pieces: CliPieces): void {
  const keys = program.command('keys').description('create, list and revoke API keys');
  addName(addUserOption(keys.command('create')), "the same as the argument (default: 'command line')")
    .usage('[name] [options]')
    .description('create a key and print it; it is shown only once')
    .option(
      '--scope <scopes...>',
      'all, read-only, invoke, invoke/<endpoint>, exec, exec/<pod or endpoint>, <area>:read|write or <area>/<record>:read|write; a record by id or name',
      ['all'],
    )
    .option('--expires <time>', 'when the key expires, e.g. 2030-01-31T12:00:00Z (default: never)', parseTime)
    .addOption(
      new Option('--rest-revision <name>', "what plain /v2 speaks to the key (default: the server's)").choices(
        REST_REVISIONS,
      ),
    )
    .action(async (given: string | undefined, { restRevision, ...options }: KeyFlags) => {
      const name = findName(given, options.name) ?? 'command line';
      const { checkScopes, createKey } = await import('./keys.ts');
      checkScopes(options.scope);
      const wanted = { ...options, name, ...(restRevision !== undefined && { restRevision }) };
      await withSide(pieces, options, (side) => createKey(side, wanted, pieces));
    });
  addUserOption(keys.command('list', { isDefault: true }).alias('ls'))
    .description('list keys with their last use, without revoked ones')
    .action(async (options: SideOptions & { user?: string }) => {
      const { listKeys } = await import('./keys.ts');
      await withSide(pieces, options, (side) => listKeys(side, options, pieces));
    });
  addKeyChanges(keys, pieces);
  addConfirm(addUserOption(keys.command('revoke')))
    .description('revoke a key for good')
    .argument('<id>', "the key's id or name, as listed")
    .action(async (id: string, options: SideOptions & ConfirmOptions & { user?: string }) => {
      requireConfirmable(pieces, options);
      const { revokeKey } = await import('./keys.ts');
      await withSide(pieces, options, (side) => revokeKey(side, { ...options, id }, pieces));
    });
}

function addKeyChanges(keys: Command, pieces: CliPieces): void {
  addCommon(keys.command('update'))
    .description('change a key: its name, scopes or expiry, where it may be used from, whether it may be used')
    .argument('<id>', "the key's id or name, as listed")
    .option('--user <name>', 'whose key it is, by name or id, for admins (default: yourself)')
    .option('--name <name>', 'its new name')
    .option('--scope <scopes...>', 'its new scopes, instead of the ones it has')
    .option('--expires <time>', 'when it expires, e.g. 2030-01-31T12:00:00Z; never: not at all', parseExpiry)
    .option('--allow <addresses...>', 'addresses and networks that it may be used from; any: from everywhere')
    .option('--disable', 'refuse it until it is enabled again')
    .option('--enable', 'accept it again')
    .action(async (id: string, options: Common & KeyUpdateOptions) => {
      const { updateKey } = await import('./change-keys.ts');
      await updateKey(await connect(pieces, options), id, options, pieces);
    });
  addCommon(keys.command('rotate'))
    .description('replace a key: print a new one that may do the same; the old one goes on for a while')
    .argument('<id>', "the key's id or name, as listed")
    .option('--user <name>', 'whose key it is, by name or id, for admins (default: yourself)')
    .option('--overlap-hours <number>', 'for how long the old one goes on (default: 24)', parseCount)
    .action(async (id: string, options: Common & { overlapHours?: number; user?: string }) => {
      const { rotateKey } = await import('./change-keys.ts');
      await rotateKey(await connect(pieces, options), id, options, pieces);
    });
}

function parseExpiry(text: string): Date | null {
  return text === 'never' ? null : parseTime(text);
}

/** Access keys of S3, made with an API key only: a server's API checks that they permit no more than it. */
export function addS3Keys(program: Command, pieces: CliPieces): void {
  const keys = program
    .command('s3-keys')
    .description('create, list and revoke access keys of S3 for the files of volumes');
  const s3Keys = () => import('./s3-keys.ts');
  addCommon(addName(keys.command('create')))
    .description('create an access key and print its id and secret; the secret is shown only once')
    .option(
      '--scope <scopes...>',
      'files:read, files:write, files/<volume>:read or files/<volume>:write; a volume by id or name',
      ['files:write'],
    )
    .option('--expires <time>', 'when the key expires, e.g. 2030-01-31T12:00:00Z (default: never)', parseTime)
    .action(async (given: string | undefined, options: Common & { name?: string; scope: string[]; expires?: Date }) => {
      const name = requireName(given, options.name, 's3-keys create');
      const { createS3Key } = await s3Keys();
      await createS3Key(await connect(pieces, options), { ...options, name }, pieces);
    });
  addCommon(keys.command('list', { isDefault: true }).alias('ls'))
    .description('list access keys with their last use')
    .action(async (options: Common) => {
      const { listS3Keys } = await s3Keys();
      await listS3Keys(await connect(pieces, options), options, pieces);
    });
  addConfirm(addCommon(keys.command('revoke')))
    .description('revoke an access key for good, with the URLs that were signed with it')
    .argument('<id>', "the key's id or name, as listed")
    .action(async (id: string, options: Common & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const { revokeS3Key } = await s3Keys();
      await revokeS3Key(await connect(pieces, options), { ...options, id }, pieces);
    });
}

export function addUsers(program: Command, pieces: CliPieces): void {
  const parent = program.command('users').description('manage users, their limits and what they own, as an admin');
  addSideOptions(parent.command('list', { isDefault: true }).alias('ls'))
    .description('list all users with their limits, quotas and use')
    .action(async (options: SideOptions) => {
      const { listUsers } = await users();
      await withSide(pieces, options, (side) => listUsers(side, options, pieces));
    });
  addSideOptions(parent.command('get'))
    .description('show a user, with the progress of a deletion')
    .argument('<name>', 'name or id of the user')
    .action(async (name: string, options: SideOptions) => {
      const { showUser } = await users();
      await withSide(pieces, options, (side) => showUser(side, { name }, pieces));
    });
  addCreate(parent, pieces);
  addChanges(parent, pieces);
  addInvite(parent, pieces);
  addDelete(parent, pieces);
  addLimits(parent, pieces);
}

function addCreate(parent: Command, pieces: CliPieces): void {
  addName(addSideOptions(parent.command('create')))
    .description('create a user and print their id, and their first key, which is shown only once')
    .option('--email <address>', 'their email address')
    .option('--admin', 'make them an admin: they manage users and the installation')
    .option('--no-key', 'without a first key')
    .option(
      '--insecure-process-runtime',
      'on a database: also beside a server with the process runtime, which does not separate users',
    )
    .action(async (given: string | undefined, options: NewUserOptions) => {
      const name = requireName(given, options.name, 'users create');
      const { createUser } = await users();
      await withSide(pieces, options, (side) => createUser(side, { ...options, name }, pieces));
    });
}

function addChanges(parent: Command, pieces: CliPieces): void {
  addSideOptions(parent.command('update'))
    .description('change a user’s email or role; the last active admin stays one')
    .argument('<name>', 'name or id of the user')
    .option('--email <address>', 'their email address; empty for none')
    .addOption(new Option('--role <role>', 'what they may do').choices(['admin', 'user', 'auditor', 'billing']))
    .action(async (name: string, options: SideOptions & { email?: string; role?: Lowercase<Role> }) => {
      const { updateUser } = await users();
      await withSide(pieces, options, (side) => updateUser(side, { ...options, name }, pieces));
    });
  addSideOptions(parent.command('suspend'))
    .description('refuse all keys of a user from now on; what runs keeps running, unless --stop')
    .argument('<name>', 'name or id of the user')
    .option('--stop', 'also scale their endpoints to zero and stop their pods')
    .option('--reason <text>', 'why, for other admins')
    .action(async (name: string, options: SideOptions & { stop?: boolean; reason?: string }) => {
      const { suspendUser } = await users();
      await withSide(pieces, options, (side) => suspendUser(side, { ...options, name }, pieces));
    });
  addSideOptions(parent.command('resume'))
    .description('end a suspension; pods that it stopped stay stopped')
    .argument('<name>', 'name or id of the user')
    .action(async (name: string, options: SideOptions) => {
      const { resumeUser } = await users();
      await withSide(pieces, options, (side) => resumeUser(side, { ...options, name }, pieces));
    });
}

interface InviteOptions {
  hours?: number;
  revoke?: boolean;
  removePassword?: boolean;
}

function addInvite(parent: Command, pieces: CliPieces): void {
  addSideOptions(parent.command('invite'))
    .description(
      'print a link with which a user sets a password and signs in, also if they forgot theirs; it works once',
    )
    .argument('<name>', 'name or id of the user')
    .option('--hours <number>', 'for how long it can be used (default: 168, at most 720)', parseCount)
    .option('--revoke', 'instead, make the last link useless')
    .option('--remove-password', 'instead, take away their password and passkeys')
    .action(async (name: string, options: SideOptions & InviteOptions) => {
      const { inviteUser } = await users();
      const { hours = 168 } = options;
      await withSide(pieces, options, (side) => inviteUser(side, { ...options, hours, name }, pieces));
    });
}

function addDelete(parent: Command, pieces: CliPieces): void {
  addConfirm(addSideOptions(parent.command('delete')))
    .description('delete a user with everything they own, or hand it over to another user')
    .argument('<name>', 'name or id of the user')
    .option('--hand-over-to <name>', 'give everything but the keys to this user first')
    .option('--wait', 'stay until the user is deleted, and show what is left')
    .action(async (name: string, options: SideOptions & ConfirmOptions & { handOverTo?: string; wait?: boolean }) => {
      requireConfirmable(pieces, options);
      const { deleteUser } = await users();
      await withSide(pieces, options, (side) => deleteUser(side, { ...options, name }, pieces));
    });
}

function addLimits(parent: Command, pieces: CliPieces): void {
  addSideOptions(parent.command('limits'))
    .description("set or show a user's limits and quotas; with --defaults, those of users without their own")
    .argument('[name]', 'name of the user')
    .argument('[changes...]', 'e.g. workers=50 gpus=unlimited gpuQuota=4 logBytesPerDay=1GiB pods=default')
    .option('--defaults', 'the limits of users without their own')
    .addHelpText('after', () => `\nLimits and quotas: ${LIMIT_NAMES.join(', ')}.`)
    .action(async (name: string | undefined, changes: string[], options: SideOptions & { defaults?: boolean }) => {
      const isUser = name !== undefined && !name.includes('=');
      if (isUser === (options.defaults === true)) {
        throw new UsageError('name a user, or use --defaults: podyard users limits <name> workers=50');
      }
      const { limitUser } = await import('./limits.ts');
      const given = options.defaults
        ? { name: undefined, changes: name === undefined ? changes : [name, ...changes] }
        : { name, changes };
      await withSide(pieces, options, (side) => limitUser(side, { ...options, ...given }, pieces));
    });
  addSideOptions(parent.command('rate-limit').alias('limit'))
    .description("set or show a user's API rate limit")
    .argument('<name>', 'name of the user')
    .argument('[limit]', 'e.g. minute=600,hour=30000; exempt; default; without it, the limit is shown')
    .action(async (name: string, limit: string | undefined, options: SideOptions) => {
      const { limitRate } = await users();
      await withSide(pieces, options, (side) => limitRate(side, { ...options, name, limit }, pieces));
    });
}

type SideOptions = Common & Omit<Flags, 'restRevision'>;

/** Ends the `--help` of every command that works on either side. */
const WHERE = `
Works on the server that you are signed in to: the current context, or PODYARD_URL and PODYARD_API_KEY. With --data-dir or
--database-url, and where you are not signed in, it works on the database of a server on this machine, which needs no key.`;

/** Adds what chooses between a server and a database. */
function addSideOptions(command: Command): Command {
  return addDatabaseOptions(addCommon(command)).addHelpText('after', WHERE);
}

/** Runs `work` on the server or the database that options and environment name. */
async function withSide<T>(
  pieces: CliPieces,
  options: SideOptions,
  work: (side: AccessSide) => Promise<T>,
): Promise<T> {
  if (await isOnServer(pieces, options)) {
    const [client, { ServerSide }] = await Promise.all([connect(pieces, options), import('./server-side.ts')]);
    return work(new ServerSide(client));
  }
  const { DatabaseSide } = await import('./database-side.ts');
  const { json: _, context: __, team: ___, ...flags } = options;
  return onDatabase(pieces, flags, (context, more) =>
    work(new DatabaseSide(context, pieces.allowsInsecureProcesses(flags, more))),
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

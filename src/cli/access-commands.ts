import { type Command, Option } from 'commander';
import type { Flags } from '../config.ts';
import { REST_REVISIONS, type RestRevision } from '../core/rest-revisions.ts';
import { LIMIT_NAMES } from '../domain/quotas/limits.ts';
import type { CliPieces } from './cli-pieces.ts';
import { addDatabaseOptions, parseTime } from './command-options.ts';

interface KeyFlags extends Omit<Flags, 'restRevision'> {
  user: string;
  name: string;
  scope: string[];
  expires?: Date;
  restRevision?: RestRevision;
}

export function addKeys(program: Command, pieces: CliPieces): void {
  const keys = program.command('keys').description('create, list and revoke API keys, directly in the database');
  addDatabaseOptions(keys.command('create'))
    .description('create a key and print it; it is shown only once')
    .option('--user <name>', 'user that the key belongs to', 'admin')
    .option('--name <text>', 'name of the key', 'command line')
    .option(
      '--scope <scopes...>',
      'all, read-only, invoke, invoke/<endpoint id>, <area>:read|write or <area>/<id>:read|write',
      ['all'],
    )
    .option('--expires <time>', 'when the key expires, e.g. 2030-01-31T12:00:00Z (default: never)', parseTime)
    .addOption(
      new Option('--rest-revision <name>', "what plain /v2 speaks to the key (default: the server's)").choices(
        REST_REVISIONS,
      ),
    )
    .action(async (options: KeyFlags) => {
      const { createKey } = await import('./keys.ts');
      await pieces.withDatabase(options, (context) => createKey(context, options, pieces));
    });
  addDatabaseOptions(keys.command('list'))
    .description("list a user's keys, without revoked ones")
    .option('--user <name>', 'user whose keys to list', 'admin')
    .action(async (options: Flags & { user: string }) => {
      const { listUserKeys } = await import('./keys.ts');
      await pieces.withDatabase(options, (context) => listUserKeys(context, options, pieces));
    });
  addDatabaseOptions(keys.command('revoke'))
    .description('revoke a key for good')
    .argument('<id>', "the key's id, as listed")
    .option('--user <name>', 'user that the key belongs to', 'admin')
    .action(async (id: string, options: Flags & { user: string }) => {
      const { revokeKey } = await import('./keys.ts');
      await pieces.withDatabase(options, (context) => revokeKey(context, { ...options, id }, pieces));
    });
}

export function addUsers(program: Command, pieces: CliPieces): void {
  const users = program.command('users').description('create, list and limit users, directly in the database');
  addDatabaseOptions(users.command('create'))
    .description('create a user; then give them a key with `podyard keys create --user <name>`')
    .argument('<name>', 'name of the user')
    .option('--email <address>', 'their email address')
    .option(
      '--insecure-process-runtime',
      'also beside a server with the process runtime, which does not separate users',
    )
    .action(async (name: string, options: Flags & { email?: string }) => {
      const { createOneUser } = await import('./users.ts');
      const user = { ...options, name, allowInsecureProcesses: pieces.allowsInsecureProcesses(options) };
      await pieces.withDatabase(options, (context) => createOneUser(context, user, pieces));
    });
  addDatabaseOptions(users.command('limits'))
    .description("set or show a user's limits and quotas; with --defaults, those of users without their own")
    .argument('[name]', 'name of the user')
    .argument('[changes...]', 'e.g. workers=50 gpus=unlimited gpuQuota=4 logBytesPerDay=1GiB pods=default')
    .option('--defaults', 'the limits of users without their own')
    .addHelpText('after', () => `\nLimits and quotas: ${LIMIT_NAMES.join(', ')}.`)
    .action(async (name: string | undefined, changes: string[], options: Flags & { defaults?: boolean }) => {
      const isUser = name !== undefined && !name.includes('=');
      if (isUser === (options.defaults === true)) {
        throw new Error('name a user, or use --defaults: podyard users limits <name> workers=50');
      }
      const { limitOneUser } = await import('./user-limits.ts');
      const given = options.defaults
        ? { name: undefined, changes: name === undefined ? changes : [name, ...changes] }
        : { name, changes };
      await pieces.withDatabase(options, (context) => limitOneUser(context, given, pieces));
    });
  addDatabaseOptions(users.command('rate-limit').alias('limit'))
    .description("set or show a user's API rate limit")
    .argument('<name>', 'name of the user')
    .argument('[limit]', 'e.g. minute=600,hour=30000; exempt; default; without it, the limit is shown')
    .action(async (name: string, limit: string | undefined, options: Flags) => {
      const { limitUser } = await import('./users.ts');
      await pieces.withDatabase(options, (context) => limitUser(context, { name, limit }, pieces));
    });
  addDatabaseOptions(users.command('list', { isDefault: true }))
    .description('list all users with their limits, quotas and use')
    .action(async (options: Flags) => {
      const { listAllUsers } = await import('./users.ts');
      await pieces.withDatabase(options, (context) => listAllUsers(context, pieces));
    });
}

export function addSecrets(program: Command, pieces: CliPieces): void {
  const secrets = program.command('secrets').description('manage secrets and the master key that encrypts them');
  addDatabaseOptions(secrets.command('rotate-key'))
    .description("re-encrypt all secrets and passwords under a new master key while servers run; prints the key's id")
    .action(async (options: Flags) => {
      const { rotateKey } = await import('./secrets.ts');
      const source = pieces.masterKeySource(options);
      await pieces.withDatabase(options, (context) => rotateKey(context, source, pieces));
    });
}

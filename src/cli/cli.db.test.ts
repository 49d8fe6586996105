import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { testTerminal } from '../../test/test-terminal.ts';
import { type Flags, readConfig } from '../config/config.ts';
import { listSettings, longFlag } from '../config/setting.ts';
import { SETTINGS } from '../config/settings.ts';
import { ensureFirstUser } from '../domain/access/ensure-first-user.ts';
import { findKeyBySecretHash } from '../domain/access/key-store.ts';
import { hashSecret } from '../domain/access/secret-hash.ts';
import { ensureInstallation, updateRuntime } from '../domain/installation.ts';
import { buildCli } from './program.ts';
import { runCli } from './run-cli.ts';
import { readServeFlags } from './server/serve-flags.ts';
import type { CliPieces } from './shared/cli-pieces.ts';

let database: TestDatabase;
let printed: string[];
let noted: string[];
let served: Flags[];
let opened: Flags[];
let pieces: CliPieces;
const terminal = testTerminal({ env: { HOME: '/nowhere' } }); // not signed in to any server

beforeAll(async () => {
  database = await createTestDatabase();
  await ensureFirstUser({ pool: database.pool, bus: { publish: () => {} } }, 'first-key');
});
afterAll(() => database.drop());
beforeEach(() => {
  printed = [];
  noted = [];
  served = [];
  opened = [];
  pieces = {
    serve: async (flags) => {
      readConfig(flags, {});
      served.push(flags);
    },
    demo: async () => {},
    withServer: async () => {},
    prove: async () => {},
    copyModels: async () => {},
    serveFiles: async () => {},
    withDatabase: (flags, work) => {
      opened.push(flags);
      return work({ pool: database.pool, bus: { publish: () => {} } });
    },
    storage: () => ({
      dataDir: '/nowhere',
      databaseUrl: 'postgres://named',
      masterKey: null as never,
      withEmbedded: null as never,
    }),
    systemdUnit: () => expect.fail('a database is named'),
    openRuntime: () => expect.fail('only stop-workers uses it'),
    masterKeySource: () => ({ keys: [Buffer.alloc(32, 1)], file: '/nowhere/master-key' }),
    allowsInsecureProcesses: (flags) => readConfig(flags, {}).allowInsecureProcesses,
    doctor: async () => true,
    terminal,
    print: (text) => printed.push(text),
    note: (text) => noted.push(text),
  };
});

const run = (...args: string[]) => runCli(pieces, args);
const keyOf = (secret: string) => findKeyBySecretHash(database.pool, hashSecret(secret));

describe('serve', () => {
  test('is the default command, with the same options', async () => {
    expect(await run()).toBe(0);
    expect(await run('--port', '9', '--stop-workers')).toBe(0);
    expect(await run('serve', '--port', '9', '--database-url', 'postgres://x')).toBe(0);
    expect(served).toEqual([
      { terminal: true },
      { port: '9', stopWorkers: true, terminal: true },
      { port: '9', databaseUrl: 'postgres://x', terminal: true },
    ]);
  });

  test('an invalid value is one sentence and status 2', async () => {
    expect(await run('--port', 'eighty')).toBe(2);
    expect(noted).toEqual(["podyard: --port is 'eighty', but must be a whole number from 0 to 65535"]);
  });

  test('a plain command line is understood as the parser of all commands does', async () => {
    const settings = listSettings(SETTINGS).filter(({ flag }) => flag !== undefined);
    for (const setting of settings) {
      const flag = longFlag(setting)!;
      const lines = setting.takes ? [[flag, 'a=b'], [`${flag}=a=b`], [flag, 'a', `${flag}=`]] : [[flag], [flag, flag]];
      for (const line of lines) {
        const given: Flags[] = [];
        const serve = async (flags: Flags) => void given.push(flags);
        await (await buildCli({ ...pieces, serve })).parseAsync(line, { from: 'user' });
        expect(readServeFlags(['serve', ...line])).toEqual(given[0]);
      }
    }
    const others = [['-h'], ['doctor'], ['serve', 'x'], ['--port'], ['--port', '-1'], ['--rest-v1=x'], ['--prot', '9']];
    for (const line of others) expect(readServeFlags(line)).toBe(null);
  });

  test('the options of serve are the flags of the configuration', async () => {
    const serve = (await buildCli(pieces)).commands.find((command) => command.name() === 'serve')!;
    const names = serve.options.map((option) => option.attributeName());
    expect(names.toSorted()).toEqual([
      'auditOtlp',
      'auditRetentionSeconds',
      'auditSyslog',
      'auditWebhook',
      'catalog',
      'cpusPerGpu',
      'dataDir',
      'dataProcesses',
      'databaseUrl',
      'egress',
      'egressAllow',
      'frozenMemory',
      'host',
      'hubCacheGb',
      'hubUrl',
      'insecureProcessRuntime',
      'lbHost',
      'logLevel',
      'logRetentionSeconds',
      'logSize',
      'mail',
      'memoryPerGpu',
      'modelsGb',
      'port',
      'proxyHost',
      'publicUrl',
      'rateLimit',
      'recipes',
      'registries',
      'registryMirrors',
      'restRevision',
      'restV1',
      'roles',
      'runtime',
      'shareGpus',
      'signIn',
      'simulateGpus',
      'stopWorkers',
      'terminal',
      'tlsCert',
      'tlsKey',
      'trustedProxies',
      'upgradeFrom',
      'webhookNetworks',
    ]);
  });
});

test('help and version are printed with status 0', async () => {
  expect(await run('--help')).toBe(0);
  expect(printed.join()).toContain('keys');
  expect(await run('keys', 'create', '--help')).toBe(0);
  expect(await run('--version')).toBe(0);
  expect(printed.at(-1)).toMatch(/^\d+\.\d+\.\d+/);
  expect(noted).toEqual([]);
});

test.each([
  [['--nonsense']],
  [['kyes']],
  [['keys', 'nonsense']],
  [['keys', 'revoke']],
  [['keys', 'create', '--expires', 'x']],
  [['keys', 'create', '--rest-revision', '2025-01']],
])('a malformed command line (%j) is a sentence and status 2', async (args) => {
  expect(await run(...args)).toBe(2);
  expect(noted.join('\n')).not.toBe('');
  expect(served).toEqual([]);
});

test.each([
  [['frobnicate'], /^error: podyard has no command 'frobnicate', but: serve, demo, keys, /],
  [['pods', 'terminate', 'x'], /^error: podyard pods has no command 'terminate', but: list, get, delete, /],
  [['pods', 'list', 'x'], /^error: too many arguments for 'list'/],
])('an unknown command is reported with the known ones: %j', async (args, message) => {
  expect(await run(...args)).toBe(2);
  expect(noted.join('\n')).toMatch(message);
  expect(noted.join('\n')).not.toMatch(/prove|complete\b/); // hidden
});

test('a created key is printed alone and has the requested scopes', async () => {
  const args = ['--scope', 'read-only', 'invoke', '--name', 'ci', '--expires', '2099-01-01T00:00:00Z'];
  args.push('--rest-revision', '2026-08');
  expect(await run('keys', 'create', '--data-dir', '/d', ...args)).toBe(0);
  expect(opened[0]).toMatchObject({ dataDir: '/d' });
  expect(printed).toEqual([expect.stringMatching(/^pyk_[\w-]+$/)]);
  const key = await keyOf(printed[0]!);
  expect(key).toMatchObject({
    name: 'ci',
    scopes: [{ kind: 'read-only' }, { kind: 'invoke' }],
    expiresAt: new Date('2099-01-01T00:00:00Z'),
    restRevision: '2026-08',
  });
  printed.length = 0;
  await run('keys', 'list');
  expect(printed[0]).toMatch(
    new RegExp(`^${key!.id} +ci +.* +2099-01-01T00:00:00.000Z +2026-08 +read-only invoke$`, 'm'),
  );
});

test('a revoked key is rejected and no longer listed', async () => {
  await run('keys', 'create');
  const key = (await keyOf(printed[0]!))!;
  expect(await run('keys', 'revoke', key.id, '--yes')).toBe(0);
  expect(await keyOf(printed[0]!)).toBeUndefined();
  expect(await run('keys', 'revoke', key.id, '--yes')).toBe(1);
  expect(noted.at(-1)).toBe(`podyard: API key not found: '${key.id}'`);
});

test('users are created and listed, and get keys by name', async () => {
  expect(await run('users', 'create', 'ann', '--email', 'ann@example.test')).toBe(0);
  const [id] = printed;
  await run('users', 'list');
  expect(printed.at(-1)).toMatch(new RegExp(`^${id} +ann +.* +ann@example.test$`, 'm'));
  expect(await run('keys', 'create', '--user', 'ann')).toBe(0);
  expect(await keyOf(printed.at(-1)!)).toMatchObject({ userId: id });
});

test('beside a running server with the process runtime, a user is created only where that is accepted', async () => {
  await ensureInstallation(database.pool);
  await updateRuntime(database.pool, 'process');
  const beat = (ago: string) =>
    database.pool.query(
      `insert into processes (id, seen_at, roles) values ('p1', now() - $1::interval, '{control}')
       on conflict (id) do update set seen_at = excluded.seen_at`,
      [ago],
    );
  try {
    await beat('1 minute');
    expect(await run('users', 'create', 'cleo')).toBe(0);
    await beat('1 second');
    expect(await run('users', 'create', 'dora')).toBe(1);
    expect(noted.at(-1)).toMatch(/^podyard: a server with the process runtime runs, which does not separate users: /);
    expect(await run('users', 'create', 'dora', '--insecure-process-runtime')).toBe(0);
    await updateRuntime(database.pool, 'docker');
    expect(await run('users', 'create', 'emil')).toBe(0);
  } finally {
    await database.pool.query('delete from processes');
  }
});

test('a user’s limits and quotas are set, shown with their use, and inherited again', async () => {
  await run('users', 'create', 'fred');
  const limitsOf = async (...args: string[]) => {
    expect(await run('users', 'limits', ...args)).toBe(0);
    return printed.at(-1)!;
  };
  const set = await limitsOf(
    'fred',
    'workers=50',
    'gpus=8',
    'gpuQuota=4',
    'logBytesPerDay=1GiB',
    'endpoints=unlimited',
  );
  for (const line of [
    /^workers +50 +0 +- +user$/m,
    /^gpuQuota +4 +0 +0 +user$/m,
    /^logBytesPerDay +1073741824 +0 +- +user$/m,
    /^endpoints +unlimited +0 +- +user$/m,
    /^pods +10000 +0 +- +all users$/m,
  ]) {
    expect(set).toMatch(line);
  }
  expect(await limitsOf('fred', 'workers=default')).toMatch(/^workers +1000 +0 +- +all users$/m);
  expect(await limitsOf('--defaults', 'workers=30', 'pods=2')).toMatch(/^workers +30 +yes$/m);
  expect(await limitsOf('fred')).toMatch(/^workers +30 +0 +- +all users$/m);
  await run('users');
  expect(printed.at(-1)).toMatch(/ fred +user +active +\S+ +0 +0\/2 +0\/1000000 +0\/30 +- +0 +0\/8 +4 +0$/m);
  expect(await limitsOf('--defaults', 'workers=default', 'pods=default')).toMatch(/^workers +1000 +built in$/m);
});

test('a user’s rate limit is set, shown and reset', async () => {
  await run('users', 'create', 'bea');
  printed.length = 0;
  for (const limit of [[], ['minute=5'], ['exempt'], [], ['minute=5,day=10'], ['default']]) {
    expect(await run('users', limit.length > 0 ? 'rate-limit' : 'limit', 'bea', ...limit)).toBe(0);
  }
  expect(printed).toEqual(['default', 'minute=5', 'exempt', 'exempt', 'minute=5,day=10', 'default']);
});

const FAILURES: [args: string[], sentence: string, status?: number][] = [
  [['users', 'limit', 'nobody', 'exempt'], "podyard: there is no user named 'nobody'"],
  [['users', 'limit', 'admin', 'minute=0'], "podyard: the limit is 'minute=0', but must be like minute=60", 2],
  [['users', 'limits', 'nobody'], "podyard: there is no user named 'nobody'"],
  [['users', 'limits'], 'podyard: name a user, or use --defaults', 2],
  [['users', 'limits', 'admin', '--defaults'], 'podyard: name a user, or use --defaults', 2],
  [['users', 'limits', 'admin', 'moons=1'], "podyard: there is no limit 'moons', but: endpoints, pods, workers", 2],
  [['users', 'limits', 'admin', 'workers'], "podyard: 'workers' must be like workers=50", 2],
  [['users', 'limits', 'admin', 'workers=1GiB'], "podyard: workers is '1GiB', but must be a whole number", 2],
  [['users', 'limits', 'admin', 'queuedBytes=5%'], "podyard: queuedBytes is '5%', but must be a size like 8GiB", 2],
  [['users', 'limits', 'admin', 'gpus=1', 'gpuQuota=2'], "podyard: gpuQuota: 2 is more than the limit 'gpus' of 1"],
  [['users', 'create', 'admin'], "podyard: there is already a user named 'admin'"],
  [['keys', 'create', '--user', 'nobody'], "podyard: there is no user named 'nobody'; `podyard users list` shows all"],
  [['keys', 'create', '--scope', 'root'], "podyard: 'root' is not a scope", 2],
  [['secrets', 'rotate-key'], 'podyard: PODYARD_MASTER_KEY holds one key: put a new one before it'],
];

test.each(FAILURES)('a failure (%j) is one sentence and a status', async (args, sentence, status = 1) => {
  expect(await run(...args)).toBe(status);
  expect(noted).toHaveLength(1);
  expect(noted[0]!.startsWith(sentence)).toBe(true);
});

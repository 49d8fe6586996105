import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { ownEverything, PLENTY } from '../../../test/owned-things.ts';
import type { Person } from '../../../test/rest-app.ts';
import { removeUser } from '../../domain/users/remove-user.ts';
import { DatabaseSide } from './database-side.ts';

let cli: CliFixture;
let admin: Person;
let env: Record<string, string>;
beforeAll(async () => {
  cli = await startCliFixture({ capacity: PLENTY });
  admin = await cli.rest.addPerson('admin');
  env = { PODYARD_API_KEY: admin.key };
});
afterAll(() => cli.close());

const podyard = (args: string[], answers?: string[]) => cli.podyard(args, { env, ...(answers && { answers }) });
const json = async (...args: string[]) => JSON.parse((await podyard([...args, '--json'])).out);
const keyIn = (text: string) => /pyk_[\w-]+/.exec(text)![0];

describe('users of a server', () => {
  test('are created with a first key on stderr, changed, suspended and resumed by name', async () => {
    const made = await podyard(['users', 'create', 'anna', '--email', 'anna@example.org']);
    expect(made).toMatchObject({ status: 0, out: expect.stringMatching(/^[a-z0-9]{14}$/) });
    const key = { PODYARD_API_KEY: keyIn(made.err) };
    expect((await cli.podyard(['limits'], { env: key })).status).toBe(0);
    expect(await json('users', 'get', 'anna')).toMatchObject({ userId: made.out, role: 'USER', apiKeys: 1 });
    expect((await podyard(['users', 'suspend', 'anna', '--stop', '--reason', 'left'])).err).toBe(
      'anna is suspended (user, workloads: stop).',
    );
    expect(await cli.podyard(['limits'], { env: key })).toMatchObject({
      status: 3,
      err: expect.stringContaining('this account is suspended: ask an admin of this server'),
    });
    expect((await podyard(['users'])).out).toMatch(/anna +user +suspended /);
    expect((await podyard(['users', 'resume', 'anna'])).err).toBe('anna is active (user).');
    expect((await cli.podyard(['limits'], { env: key })).status).toBe(0);
    expect((await podyard(['users', 'update', 'anna', '--role', 'admin'])).err).toBe('anna is active (admin).');
    expect((await cli.podyard(['users'], { env: key })).status).toBe(0);
    expect((await podyard(['users', 'update', made.out, '--role', 'user', '--email', ''])).status).toBe(0);
    expect(await json('users', 'get', 'anna')).toMatchObject({ role: 'USER', email: null });
  });

  test('are invited to set a password, by a link that is printed once and can be revoked', async () => {
    const { userId } = await json('users', 'create', 'ines', '--no-key');
    const invite = async (...more: string[]) => {
      const key = await cli.rest.keyFor(admin, 'all', 'exec', 'files:write');
      return cli.podyard(['users', 'invite', 'ines', ...more], { env: { PODYARD_API_KEY: key } });
    };
    const made = await invite('--hours', '24');
    expect(made).toMatchObject({ status: 0, out: expect.stringMatching(/^http.*\/#\/invitation\/pyi_[\w-]{32}$/) });
    expect(made.err).toMatch(/^Whoever opens this link first sets the password of ines, until 20/);
    const { pool } = cli.rest.database;
    const onDatabase = await new DatabaseSide({ pool, bus: cli.rest.bus }).inviteUser(userId, 1);
    expect(onDatabase.url).toMatch(/^\/#\/invitation\/pyi_/); // for a server whose address is not known
    expect((await invite('--hours', '721')).status).not.toBe(0);
    expect((await invite('--revoke')).err).toBe('The invitation of ines is revoked.');
    expect((await invite('--remove-password')).err).toContain('Password not found');
    await cli.rest.database.pool.query(
      `insert into passwords (user_id, hash) select id, 'x' from users where name = 'ines'`,
    );
    expect((await invite('--remove-password')).err).toBe('ines signs in with no password or passkey any more.');
    expect((await invite('--revoke')).status).toBe(4);
    expect((await podyard(['users', 'invite', 'ines'])).err).toContain('this key invites nobody');
  });

  test('have limits and rate limits', async () => {
    await podyard(['users', 'create', 'lim', '--no-key']);
    expect((await podyard(['users', 'limits', 'lim', 'pods=3', 'gpuQuota=2'])).out).toMatch(/^pods +3 +0 +- +user$/m);
    expect((await podyard(['users', 'limits', '--defaults', 'pods=9'])).out).toMatch(/^pods +9 +yes$/m);
    await podyard(['users', 'limits', '--defaults', 'pods=default']);
    expect((await podyard(['users', 'rate-limit', 'lim', 'minute=5'])).out).toBe('minute=5');
    expect((await podyard(['users', 'rate-limit', 'lim'])).out).toBe('minute=5');
    expect((await podyard(['users', 'rate-limit', 'lim', 'default'])).out).toBe('default');
  });

  test('are deleted after the name was typed, with what would go', async () => {
    const { userId } = await json('users', 'create', 'gone');
    expect((await podyard(['users', 'delete', 'gone'])).status).toBe(2);
    expect(await podyard(['users', 'delete', 'gone'], ['anna'])).toMatchObject({
      status: 1,
      err: "podyard: 'anna' is not gone: nothing is deleted",
    });
    const deleted = await podyard(['users', 'delete', 'gone'], ['gone']);
    expect(deleted.err).toBe(`gone is being deleted; \`podyard users get ${userId}\` shows what is left.`);
    expect((await podyard(['users'])).out).toMatch(/gone +user +being deleted /);
    const waiting = podyard(['users', 'delete', 'gone', '--wait', '--yes']);
    expect((await waiting).err).toContain("'gone' is being deleted");
    expect(await removeUser({ pool: cli.rest.database.pool, bus: cli.rest.bus }, userId)).toBeNull();
    expect(await podyard(['users', 'get', 'gone'])).toMatchObject({
      status: 4,
      err: "podyard: there is no user named 'gone'; `podyard users list` shows all",
    });
  });

  test('are handed over, with the names that change', async () => {
    const [from, to] = [await cli.rest.addPerson('from'), await cli.rest.addPerson('to')];
    const [owned] = [await ownEverything(cli.rest, from), await ownEverything(cli.rest, to)];
    const { out, err } = await podyard(['users', 'delete', 'from', '--hand-over-to', 'to', '--yes']);
    expect([out, err]).toEqual([
      '',
      expect.stringMatching(
        /^The template shared name will be named shared name \(from\)\.\nThe secret TOKEN will be named TOKEN_from\.\nfrom is being deleted/,
      ),
    ]);
    expect((await cli.podyard(['endpoints', 'get', owned.endpoint], { env: { PODYARD_API_KEY: to.key } })).status).toBe(
      0,
    );
  });

  test('are for admins', async () => {
    expect(await cli.podyard(['users'])).toMatchObject({ status: 3, err: expect.stringContaining('access denied') });
  });
});

describe('keys of a server', () => {
  test('are those of the user, or with --user those of another one for admins', async () => {
    const made = await cli.podyard(['keys', 'create', '--name', 'ci', '--scope', 'pods:read']);
    expect(made.out).toMatch(/^pyk_/);
    const listed = await cli.podyard(['keys']);
    expect(listed.out).toMatch(/^\S+ +ci +\S+ +never +alice +never +default +pods:read$/m);
    expect((await podyard(['keys', 'list', '--user', 'alice'])).out).toMatch(/ ci /);
    expect((await cli.podyard(['keys', 'list', '--user', 'bob'])).status).toBe(3);
    const spare = await podyard(['keys', 'create', '--user', 'alice', '--name', 'spare']);
    expect((await cli.podyard(['keys'])).out).toMatch(/^\S+ +spare +\S+ +never +admin +never +default +all$/m);
    expect((await cli.podyard(['limits'], { env: { PODYARD_API_KEY: spare.out } })).status).toBe(0);
    expect((await podyard(['keys', 'revoke', 'spare', '--user', 'alice', '--yes'])).status).toBe(0);
    expect((await cli.podyard(['limits'], { env: { PODYARD_API_KEY: spare.out } })).status).toBe(3);
    expect(await cli.podyard(['keys', 'revoke', 'ci'], { answers: ['ci'] })).toMatchObject({ status: 0 });
    expect(await cli.podyard(['keys', 'create', '--scope', 'moon'])).toMatchObject({ status: 2 });
  });
});

test('a key is changed, disabled, bound to addresses and replaced, by its name', async () => {
  const made = await cli.podyard(['keys', 'create', '--name', 'pipeline', '--scope', 'account:read']);
  const uses = async (key: string) => (await cli.podyard(['limits'], { env: { PODYARD_API_KEY: key } })).status;
  expect(await uses(made.out)).toBe(0);
  expect((await cli.podyard(['keys', 'update', 'pipeline', '--disable'])).status).toBe(0);
  expect((await cli.podyard(['keys'])).out).toMatch(/ pipeline .* disabled /);
  expect(await uses(made.out)).toBe(3);
  await cli.podyard(['keys', 'update', 'pipeline', '--enable', '--allow', '203.0.113.0/24']);
  expect(await uses(made.out)).toBe(3);
  await cli.podyard(['keys', 'update', 'pipeline', '--allow', 'any', '--expires', '2099-01-01T00:00:00Z']);
  expect(await uses(made.out)).toBe(0);
  await cli.podyard(['keys', 'update', 'pipeline', '--expires', 'never']);
  const rotated = await cli.podyard(['keys', 'rotate', 'pipeline', '--overlap-hours', '1']);
  expect(rotated).toMatchObject({ status: 0, out: expect.stringMatching(/^pyk_\S+$/) });
  expect([await uses(made.out), await uses(rotated.out)]).toEqual([0, 0]);
  expect((await cli.podyard(['keys'])).out).toMatch(/ pipeline \(replaced\) /);
  for (const wrong of [[], ['--enable', '--disable'], ['--scope', 'moon'], ['--expires', 'soon']])
    expect((await cli.podyard(['keys', 'update', 'pipeline', ...wrong])).status).toBe(2);
  expect((await cli.podyard(['keys', 'rotate', 'nosuch'])).err).toContain("API key not found: 'nosuch'");
});

test("an admin changes and replaces another user's key by its name; others do not", async () => {
  const { out: key } = await cli.podyard(['keys', 'create', '--name', 'nightly', '--scope', 'account:read']);
  const uses = async (secret: string) => (await cli.podyard(['limits'], { env: { PODYARD_API_KEY: secret } })).status;
  const ofAlice = ['--user', 'alice'];
  expect((await podyard(['keys', 'update', 'nightly', '--disable', ...ofAlice])).status).toBe(0);
  expect(await uses(key)).toBe(3);
  expect((await podyard(['keys', 'update', 'nightly', '--enable', ...ofAlice])).status).toBe(0);
  const rotated = await podyard(['keys', 'rotate', 'nightly', '--overlap-hours', '0', ...ofAlice]);
  expect(rotated).toMatchObject({ status: 0, out: expect.stringMatching(/^pyk_\S+$/) });
  expect([await uses(key), await uses(rotated.out)]).toEqual([3, 0]);
  for (const command of [
    ['update', 'test', '--disable'],
    ['rotate', 'test'],
  ]) {
    const refused = await cli.podyard(['keys', ...command, '--user', 'admin']);
    expect([refused.status, refused.out]).toEqual([3, '']);
  }
});

describe('where a command works', () => {
  test('on the context, on the variables, or on the database that is named; never on both', async () => {
    const home = join(cli.home, 'signed-in');
    await mkdir(join(home, '.config', 'podyard'), { recursive: true });
    const contexts = { current: 'here', contexts: { here: { url: cli.url, key: admin.key } } };
    await writeFile(join(home, '.config', 'podyard', 'contexts.json'), JSON.stringify(contexts));
    const signedIn = { HOME: home, PODYARD_URL: '', PODYARD_API_KEY: '' };
    expect((await cli.podyard(['users'], { env: signedIn })).out).toMatch(/ alice /);
    const unused = 'podyard: this command must not use it';
    expect((await cli.podyard(['users', '--data-dir', '/d'], { env: signedIn })).err).toBe(unused);
    expect((await cli.podyard(['keys', '--database-url', 'postgres://x'])).err).toBe(unused);
    const nowhere = { HOME: '/nowhere', PODYARD_URL: '', PODYARD_API_KEY: '' };
    expect((await cli.podyard(['users'], { env: nowhere })).err).toBe(unused);
    expect(await cli.podyard(['users', '--data-dir', '/d', '--context', 'here'], { env: signedIn })).toMatchObject({
      status: 2,
      err: 'podyard: --context names a server, --data-dir and --database-url a database: use one of them',
    });
    for (const command of ['users', 'keys']) {
      const help = (await cli.podyard([command, 'list', '--help'])).out;
      expect(help.replace(/\s+/g, ' ')).toContain(
        'Works on the server that you are signed in to: the current context, or PODYARD_URL and PODYARD_API_KEY. With --data-dir or --database-url, and where you are not signed in, it works on the database',
      );
    }
  });
});

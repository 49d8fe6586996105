import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { runRemote } from '../../../test/cli-fixture.ts';
import { type BrowserSession, type SignInServer, startSignInServer } from '../../../test/sign-in-server.ts';
import { isRemoteShell } from './browser-login.ts';

let server: SignInServer;
let alice: BrowserSession;
let home: string;

beforeAll(async () => {
  [server, home] = await Promise.all([startSignInServer(), mkdtemp(join(tmpdir(), 'podyard-login-'))]);
  alice = await server.signIn(server.rest.alice.key);
});
afterEach(() => rm(join(home, '.config'), { recursive: true, force: true }));
afterAll(async () => {
  await server.close();
  await rm(home, { recursive: true });
});

/** Runs a command that nobody's browser opens for, and calls `act` with the first of its notes that has `pattern`. */
async function podyard(
  args: string[],
  pattern = /^$/,
  act: (match: RegExpExecArray) => Promise<void> = async () => {},
) {
  let acted: Promise<void> = Promise.resolve();
  const env = { HOME: home, PATH: '/nonexistent' };
  const onNote = (text: string) => {
    const match = pattern.exec(text);
    if (match) acted = act(match);
  };
  const run = await runRemote(args, { env, answers: [], onNote });
  await acted;
  return run;
}

const PAGE = /#\/login\?(\S+)/;
const approve = async (path: string, body: object) => {
  const response = await server.send(`/sign-in/cli/${path}`, {
    session: alice,
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect(response.ok).toBe(true);
  return (await response.json()) as { code: string };
};
/** As the console's page does when the person approves. */
async function visit(query: string, changes: Record<string, string> = {}): Promise<Response> {
  const { host, port, state, challenge } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>;
  const { code } = await approve('approve', { host, challenge, days: 90 });
  const returned = new URLSearchParams({ code, state: state!, ...changes });
  return fetch(`http://127.0.0.1:${port}/callback?${returned}`);
}
const contexts = async () => JSON.parse(await readFile(join(home, '.config/podyard/contexts.json'), 'utf8'));
const keyNames = async () => {
  const list = await server.rest.call('GET', '/v2/account/api-keys', { key: server.rest.alice.key });
  return list.json().apiKeys.map(({ name }: { name: string }) => name);
};

test('login opens a browser, and saves the key that the person approved; logout revokes it', async () => {
  const run = await podyard(['login', server.url], PAGE, async ([, query]) => {
    const response = await visit(query!);
    expect(await response.text()).toContain('The command line is signed in.');
  });
  expect(run).toMatchObject({ status: 0, err: expect.stringContaining(`Signed in to ${server.url} as alice until`) });
  expect((await stat(join(home, '.config/podyard/contexts.json'))).mode & 0o777).toBe(0o600);
  const { key, keyId } = (await contexts()).contexts.default;
  expect(run.err).not.toContain(key);
  expect((await podyard(['endpoints', '--json'])).out).toBe('[]');
  expect(await keyNames()).toContainEqual(expect.stringMatching(/^CLI on /));

  expect(await podyard(['logout'])).toMatchObject({ status: 0, err: expect.stringContaining('its key is revoked') });
  expect((await server.rest.call('GET', '/v2/account', { key })).statusCode).toBe(401);
  expect(await contexts()).toEqual({ current: null, contexts: {} });
  expect(keyId).toMatch(/./);
  expect((await podyard(['logout'])).status).toBe(2);
});

test('who visits the return address without the state changes nothing', async () => {
  const run = await podyard(['login', server.url], PAGE, async ([, query]) => {
    const port = new URLSearchParams(query).get('port');
    expect((await visit(query!, { state: 'x'.repeat(43) })).status).toBe(404);
    for (const path of ['/', '/callback', '/callback?code=pyl_x']) {
      expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(404);
    }
    expect((await fetch(`http://127.0.0.1:${port}/callback?${query}`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`http://localhost:${port}/callback?${query}`)).status).toBe(404); // another name for it
    expect((await visit(query!)).status).toBe(200);
  });
  expect(run.status).toBe(0);
});

test('a code of another login, or none, signs in nowhere', async () => {
  const forged = await podyard(['login', server.url], PAGE, async ([, query]) => {
    const other = await approve('approve', { host: 'evil', challenge: 'c'.repeat(43), days: 1 });
    expect((await visit(query!, { code: other.code })).status).toBe(400);
  });
  expect(forged).toMatchObject({ status: 3, err: expect.stringContaining('this login was used') });
  const denied = await podyard(['login', server.url], PAGE, async ([, query]) => {
    const given = new URLSearchParams(query);
    await fetch(`http://127.0.0.1:${given.get('port')}/callback?error=access_denied&state=${given.get('state')}`);
  });
  expect(denied).toMatchObject({ status: 1, err: expect.stringContaining('denied in the console') });
});

test('login --device waits for the code that a person types; a second login revokes the first key', async () => {
  const run = () =>
    podyard(['login', server.url, '--device'], /^ {2}([A-Z-]{9})$/m, async ([, userCode]) => {
      await approve('device/approve', { userCode, days: 1 });
    });
  expect((await run()).status).toBe(0);
  const { key } = (await contexts()).contexts.default;
  expect((await run()).status).toBe(0);
  expect((await server.rest.call('GET', '/v2/account', { key })).statusCode).toBe(401);
});

test('a key that was pasted goes on after logout', async () => {
  const env = { HOME: home };
  const input = server.rest.alice.key;
  expect((await runRemote(['login', server.url, '--name', 'mine'], { env, input })).status).toBe(0);
  const out = await podyard(['logout', '--name', 'mine']);
  expect(out).toMatchObject({ status: 0, err: expect.stringContaining('goes on elsewhere') });
  expect((await server.rest.call('GET', '/v2/account', { key: input })).statusCode).toBe(200);
  expect(await podyard(['logout', '--name', 'nobody'])).toMatchObject({ status: 1 });
});

test('where the sign-in cannot be saved, as in the container of the server, the command says what to set instead', async () => {
  const env = { HOME: '/proc/nowhere' };
  const run = await runRemote(['login', server.url, '--with-key'], { env, input: server.rest.alice.key });
  expect(run).toMatchObject({ status: 1, err: expect.stringContaining('set PODYARD_URL and PODYARD_API_KEY instead') });
});

test('a server that is away is said before a browser opens', async () => {
  const run = await podyard(['login', 'http://127.0.0.1:1']);
  expect(run.status).toBe(6);
  expect(run.err).not.toContain('#/login');
});

test('a shell of another machine gets a code to type', () => {
  expect(isRemoteShell({ SSH_CONNECTION: '192.0.2.1 5 192.0.2.2 22' })).toBe(true);
  expect(isRemoteShell({ SSH_CONNECTION: '192.0.2.1 5 192.0.2.2 22', DISPLAY: ':0' })).toBe(false);
  expect(isRemoteShell({})).toBe(false);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserSession, headersOf, type SignInServer, startSignInServer } from '../../../test/sign-in-server.ts';
import { type Odd, SoftAuthenticator } from '../../../test/soft-authenticator.ts';
import type { UserId } from '../../core/ids.ts';
import { hashPassword } from '../../domain/local-accounts/password-hash.ts';
import { upsertPassword } from '../../domain/local-accounts/password-store.ts';

let server: SignInServer;
const PASSWORD = 'pelican gravel ounce tilt';

beforeAll(async () => {
  server = await startSignInServer();
});
afterAll(() => server.close());

/** The browser's part of a request: its cookies, and the header of a session. */
interface Sent {
  session?: BrowserSession | undefined;
  cookie?: string | undefined;
}

async function post(path: string, body: object, { session, cookie }: Sent = {}) {
  const own = session === undefined ? { origin: server.url } : headersOf(session, server.url);
  const cookies = [session?.cookie, cookie].filter(Boolean).join('; ');
  const response = await server.send(`/sign-in/${path}`, {
    ...{ method: 'POST', headers: { ...own, cookie: cookies }, body: JSON.stringify(body) },
  });
  const set = response.headers.getSetCookie().map((line) => line.split(';', 1)[0]!);
  return { status: response.status, cookie: set.at(-1), body: await response.json() };
}

async function sessionOf(answer: Awaited<ReturnType<typeof post>>): Promise<BrowserSession> {
  expect(answer.status).toBe(201);
  return { ...(answer.body as { id: string; token: string }), cookie: answer.cookie! };
}

/** Somebody with a password, who is signed in with it. */
async function newAccount(name: string): Promise<{ userId: UserId; session: BrowserSession }> {
  const { userId } = await server.rest.addPerson(name);
  await upsertPassword(server.rest.database.pool, userId, await hashPassword(PASSWORD, { memory: 8, passes: 1 }));
  return { userId, session: await sessionOf(await post('password', { login: name, password: PASSWORD })) };
}

type Challenge = { challenge: string };

/** Registers a passkey. */
async function add(session: BrowserSession, key: SoftAuthenticator, odd: Odd = {}, name = 'laptop') {
  const { body, cookie } = await post('passkeys/options', { current: '' }, { session });
  return post('passkeys', { name, response: key.create(body as Challenge, odd) }, { session, cookie });
}

async function begin(): Promise<{ challenge: string; cookie: string }> {
  const { body, cookie } = await post('passkey/options', {});
  return { ...(body as Challenge), cookie: cookie! };
}

const accountOf = async (session: BrowserSession) =>
  (await (await server.send('/v2/account', { session })).json()) as { name: string };
const ownWays = async (session: BrowserSession) =>
  (await (await server.send('/sign-in/account', { session })).json()) as {
    hasPassword: boolean;
    isProven: boolean;
    passkeys: { id: string; name: string; lastUsedAt: string | null }[];
  };

// The first one waits for modules to load.
test('a passkey is added, signs in, is renamed and removed', { timeout: 60_000 }, async () => {
  const { session } = await newAccount('anna');
  const key = new SoftAuthenticator(server.url);
  expect((await add(session, key)).status).toBe(201);
  const [added] = (await ownWays(session)).passkeys;
  expect(added).toMatchObject({ name: 'laptop', lastUsedAt: null });
  expect(await (await server.send('/sign-in/providers')).json()).toMatchObject({ hasPasskeys: true });
  const { cookie, ...options } = await begin();
  const signedIn = await sessionOf(await post('passkey', key.get(options), { cookie }));
  expect(await accountOf(signedIn)).toMatchObject({ name: 'anna' });
  const { sessions } = (await (await server.send('/v2/account/sessions', { session: signedIn })).json()) as {
    sessions: { madeBy: string; isCurrent: boolean }[];
  };
  expect(sessions.find(({ isCurrent }) => isCurrent)).toMatchObject({ madeBy: 'PASSKEY' });
  const id = added!.id;
  expect((await post('passkeys/rename', { id, name: ' phone ' }, { session })).status).toBe(200);
  expect((await ownWays(session)).passkeys).toMatchObject([{ name: 'phone', lastUsedAt: expect.any(String) }]);
  const { session: stranger } = await newAccount('ben');
  expect((await post('passkeys/rename', { id, name: 'mine' }, { session: stranger })).status).toBe(404);
  expect((await post('passkeys/remove', { id }, { session: stranger })).status).toBe(404);
  for (const name of ['', ' ', 'x'.repeat(101), 7]) {
    expect((await post('passkeys/rename', { id, name }, { session })).status).toBe(400);
  }
  expect((await post('passkeys/remove', { id }, { session })).status).toBe(200);
  const again = await begin();
  expect((await post('passkey', key.get(again), { cookie: again.cookie })).status).toBe(401);
});

test('a challenge is answered once, by the browser that asked, within five minutes, for what it was made for', async () => {
  const { session } = await newAccount('carla');
  const key = new SoftAuthenticator(server.url);
  await add(session, key);
  const { cookie, ...options } = await begin();
  const answer = key.get(options);
  expect((await post('passkey', answer)).status).toBe(401); // stolen, without the cookie
  expect((await post('passkey', answer, { cookie: (await begin()).cookie })).status).toBe(401); // another browser
  expect((await post('passkey', answer, { cookie })).status).toBe(201);
  expect((await post('passkey', answer, { cookie })).status).toBe(401); // replayed, with everything
  key.counter += 10;
  expect((await post('passkey', key.get(options), { cookie })).status).toBe(401); // the challenge again
  const adding = await post('passkeys/options', { current: '' }, { session });
  const crossed = key.get(adding.body as Challenge);
  expect((await post('passkey', crossed, { cookie: adding.cookie })).status).toBe(401);
  const forSignIn = await begin();
  const body = { name: 'x', response: new SoftAuthenticator(server.url).create(forSignIn) };
  expect((await post('passkeys', body, { session, cookie: forSignIn.cookie })).status).toBe(403);
  const old = { challenge: 'AAAA', for: null, startedMs: Date.now() - 301_000 };
  const sealed = server.rest.secretBox.seal(JSON.stringify(old), 'passkey challenge').toString('base64url');
  expect((await post('passkey', key.get(old), { cookie: `podyard_passkey=${sealed}` })).status).toBe(401);
});

test.each<[string, Odd]>([
  ['another origin', { origin: 'https://evil.example' }],
  ['another port of the host', { origin: 'http://127.0.0.1:1' }],
  ['another relying party', { rpId: 'evil.example' }],
  ['no verification of the user', { isVerified: false }],
  ['another challenge', { challenge: 'AAAAAAAAAAAAAAAAAAAAAA' }],
])('an answer with %s neither signs in nor adds a passkey', async (what, odd) => {
  const { session } = await newAccount(`dora of ${what}`);
  const key = new SoftAuthenticator(server.url);
  expect((await add(session, key, odd)).status).toBe(400);
  expect((await add(session, key)).status).toBe(201);
  const { cookie, ...options } = await begin();
  expect((await post('passkey', key.get(options, odd), { cookie })).status).toBe(401);
});

test('a copied authenticator shows by its counter; one that counts nothing is accepted', async () => {
  const { session } = await newAccount('edda');
  const key = new SoftAuthenticator(server.url);
  await add(session, key);
  const use = async (counter: number) => {
    const { cookie, ...options } = await begin();
    return (await post('passkey', key.get(options, { counter }), { cookie })).status;
  };
  expect([await use(5), await use(4), await use(5), await use(6)]).toEqual([201, 401, 401, 201]);
  const uncounted = new SoftAuthenticator(server.url);
  await add(session, uncounted);
  for (let i = 0; i < 2; i++) {
    const { cookie, ...options } = await begin();
    expect((await post('passkey', uncounted.get(options, { counter: 0 }), { cookie })).status).toBe(201);
  }
});

test('the signature of another key, and an unknown passkey, sign nobody in', async () => {
  const { session } = await newAccount('frida');
  const key = new SoftAuthenticator(server.url);
  await add(session, key);
  const other = new SoftAuthenticator(server.url);
  const first = await begin();
  const unknown = await post('passkey', other.get(first), { cookie: first.cookie });
  key.id.copy(other.id);
  const second = await begin();
  const forged = await post('passkey', other.get(second), { cookie: second.cookie });
  expect([unknown.status, forged.status]).toEqual([401, 401]);
  const third = await begin();
  for (const odd of [{}, { id: 7 }, { id: 'x', response: null }, { id: 'x', response: { clientDataJSON: '' } }]) {
    expect((await post('passkey', odd, { cookie: third.cookie })).status).toBe(401);
  }
  expect((await post('passkeys', { name: 'x', response: 5 }, { session })).status).toBe(403);
});

test('a suspended user does not sign in with a passkey', async () => {
  const { userId, session } = await newAccount('gerda');
  const key = new SoftAuthenticator(server.url);
  await add(session, key);
  await server.rest.database.pool.query(
    `update users set suspended_at = now(), suspended_workloads = 'KEEP' where id = $1`,
    [userId],
  );
  const { cookie, ...options } = await begin();
  expect((await post('passkey', key.get(options), { cookie })).status).toBe(403);
});

test('adding a passkey takes a local account, and the password or a fresh sign-in', async () => {
  const { userId, session } = await newAccount('hanna');
  expect(await ownWays(session)).toEqual({ hasPassword: true, isProven: true, passkeys: [] });
  const { pool } = server.rest.database;
  await pool.query(`update sessions set created_at = now() - interval '11 minutes' where id = $1`, [session.id]);
  expect(await ownWays(session)).toMatchObject({ isProven: false });
  const status = async (current: string, as = session) =>
    (await post('passkeys/options', { current }, { session: as })).status;
  expect([await status(''), await status('wrong'), await status(PASSWORD)]).toEqual([403, 403, 200]);
  const key = await server.rest.keyFor({ userId, key: '' }, 'all', 'exec', 'files:write');
  expect(await status('', await server.signIn(key))).toBe(403);
  const without = await server.signIn(server.rest.alice.key);
  expect(await status('', without)).toBe(409);
  expect(await ownWays(without)).toEqual({ hasPassword: false, isProven: false, passkeys: [] });
  expect((await post('passkeys/options', { current: '' })).status).toBe(401);
});

test('a passkey belongs to one account, and an account has at most twenty', async () => {
  const { session } = await newAccount('ida');
  const { session: other } = await newAccount('jutta');
  const key = new SoftAuthenticator(server.url);
  expect([(await add(session, key)).status, (await add(other, key)).status]).toEqual([201, 409]);
  for (let i = 1; i < 20; i++) expect((await add(session, new SoftAuthenticator(server.url))).status).toBe(201);
  expect((await add(session, new SoftAuthenticator(server.url))).status).toBe(409);
});

test('passkeys and refusals are in the audit log', async () => {
  const { rows } = await server.rest.database.pool.query<{ operation: string; outcome: string; entry: string }>(
    'select operation, outcome, a::text as entry from audit_entries a',
  );
  const seen = new Set(rows.map(({ operation, outcome }) => `${operation} ${outcome}`));
  for (const each of ['passkey.create done', 'passkey.rename done', 'passkey.delete done', 'session.create refused']) {
    expect(seen).toContain(each);
  }
  expect(rows.filter(({ entry }) => entry.includes('passkey:')).length).toBeGreaterThan(0);
});

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Person } from '../../../test/rest-app.ts';
import { type BrowserSession, type SignInServer, startSignInServer } from '../../../test/sign-in-server.ts';
import { MAX_OF_ACCOUNT, MAX_OF_NETWORK } from './limit-tries.ts';

let server: SignInServer;
let adminKey: string;
const PASSWORD = 'pelican gravel ounce tilt';
const OTHER = 'my tortoise eats vinyl';

beforeAll(async () => {
  server = await startSignInServer();
  adminKey = await server.rest.keyFor(await server.rest.addPerson('admin'), 'all', 'exec', 'files:write');
});
beforeEach(() => server.rest.database.pool.query('delete from sign_in_tries'));
afterAll(() => server.close());

const invitationPath = ({ userId }: Person) => `/v2/account/users/${userId}/invitation`;

async function invite(person: Person): Promise<string> {
  const response = await server.rest.call('POST', invitationPath(person), { key: adminKey, body: {} });
  expect(response.statusCode).toBe(201);
  return /#\/invitation\/(pyi_[\w-]{32})$/.exec(response.json().url)![1]!;
}

/** Sends what the console does; `from`: through a proxy that is trusted, for another address. */
function post(path: string, body: object, options: { session?: BrowserSession; from?: string } = {}) {
  const { session, from } = options;
  return server.send(`/sign-in/${path}`, {
    ...(session && { session }),
    method: 'POST',
    headers: { origin: server.url, ...(from && { 'x-forwarded-for': from }) },
    body: JSON.stringify(body),
  });
}

async function sessionOf(response: Response): Promise<BrowserSession> {
  expect(response.status).toBe(201);
  const cookie = response.headers.getSetCookie().at(-1)!.split(';', 1)[0]!;
  return { ...((await response.json()) as { id: string; token: string }), cookie };
}

/** Somebody with a password, and where they are signed in. */
async function newAccount(name: string): Promise<{ person: Person; session: BrowserSession }> {
  const person = await server.rest.addPerson(name);
  await server.rest.database.pool.query('update users set email = $2 where id = $1', [
    person.userId,
    `${name.replaceAll(' ', '.')}@Example.org`,
  ]);
  const secret = await invite(person);
  return { person, session: await sessionOf(await post('invitation/accept', { secret, password: PASSWORD })) };
}

const accountStatus = async (session: BrowserSession) => (await server.send('/v2/account', { session })).status;
const signIn = (login: string, password = PASSWORD, from?: string) =>
  post('password', { login, password }, from === undefined ? {} : { from });
const suspend = (person: Person, at: Date | null) =>
  server.rest.database.pool.query('update users set suspended_at = $2, suspended_workloads = $3 where id = $1', [
    ...[person.userId, at, at && 'KEEP'],
  ]);

// The first one waits for modules to load.
test('the sign-in page offers passwords once somebody has one', { timeout: 60_000 }, async () => {
  const ways = async () => (await server.send('/sign-in/providers')).json();
  expect(await ways()).toEqual({ providers: [], hasPasswords: false, hasPasskeys: false });
  await newAccount('first');
  expect(await ways()).toEqual({ providers: [], hasPasswords: true, hasPasskeys: false });
});

test('while the database does not answer, the sign-in page still shows providers and keys', async () => {
  const { pool } = server.rest.database;
  await pool.query('alter table passwords rename to passwords_away');
  try {
    expect((await server.send('/sign-in/providers')).status).toBe(200);
  } finally {
    await pool.query('alter table passwords_away rename to passwords');
  }
});

test('whoever is invited sets a password, is signed in, and signs in with their email or name', async () => {
  const { person, session } = await newAccount('anna berg');
  expect(await (await server.send('/v2/account', { session })).json()).toMatchObject({ id: person.userId });
  for (const login of ['anna.berg@example.ORG', 'anna berg', '  anna berg ']) {
    expect(await accountStatus(await sessionOf(await signIn(login)))).toBe(200);
  }
  const { sessions } = (await (await server.send('/v2/account/sessions', { session })).json()) as {
    sessions: { madeBy: string }[];
  };
  expect(sessions.map(({ madeBy }) => madeBy)).toEqual(['PASSWORD', 'PASSWORD', 'PASSWORD', 'PASSWORD']);
});

test('a sign-in and a sign-out are by whoever signs in and out, in the audit log', async () => {
  const { person, session } = await newAccount('grace');
  const out = await server.send('/sign-in/out', { method: 'POST', headers: { origin: server.url }, session });
  expect(out.status).toBe(200);
  const { rows } = await server.rest.database.pool.query(
    `select operation, actor_kind as kind, actor_id as "by", interface, address is not null as "hasAddress"
     from audit_entries where record_id = $1 order by seq`,
    [session.id],
  );
  const author = { kind: 'session', by: person.userId, interface: 'console', hasAddress: true };
  expect(rows).toEqual(['session.create', 'session.end'].map((operation) => ({ operation, ...author })));
});

test('an invitation shows whom it invites, is used once, and only its hash is stored', async () => {
  const person = await server.rest.addPerson('nora');
  const secret = await invite(person);
  expect(await (await post('invitation', { secret })).json()).toMatchObject({ name: 'nora', email: null });
  const stored = await server.rest.database.pool.query('select i::text as row from invitations i');
  expect(JSON.stringify(stored.rows)).not.toContain(secret.slice(4));
  const answers = await Promise.all([1, 2, 3].map(() => post('invitation/accept', { secret, password: PASSWORD })));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 404, 404]);
  expect((await post('invitation/accept', { secret, password: OTHER })).status).toBe(404);
  expect((await post('invitation', { secret })).status).toBe(404);
  expect((await signIn('nora', OTHER)).status).toBe(401);
});

test('an invitation that has expired, was replaced or revoked, or was never made opens nothing', async () => {
  const person = await server.rest.addPerson('olga');
  const [first, second] = [await invite(person), await invite(person)];
  const accept = async (secret: string) => (await post('invitation/accept', { secret, password: PASSWORD })).status;
  expect(await accept(first)).toBe(404);
  await server.rest.database.pool.query('update invitations set expires_at = now() where user_id = $1', [
    person.userId,
  ]);
  expect(await accept(second)).toBe(404);
  expect((await server.rest.call('GET', invitationPath(person), { key: adminKey })).statusCode).toBe(404);
  const third = await invite(person);
  expect((await server.rest.call('GET', invitationPath(person), { key: adminKey })).body).not.toContain('pyi_');
  expect((await server.rest.call('DELETE', invitationPath(person), { key: adminKey })).statusCode).toBe(204);
  expect((await server.rest.call('DELETE', invitationPath(person), { key: adminKey })).statusCode).toBe(404);
  expect(await accept(third)).toBe(404);
  for (const secret of ['', 'pyi_', `pyi_${'A'.repeat(32)}`, 'x'.repeat(10_000)])
    expect(await accept(secret)).toBe(404);
});

test('the invitation of a user who is suspended, being deleted or deleted opens nothing', async () => {
  const person = await server.rest.addPerson('pia');
  const secret = await invite(person);
  const accept = async () => (await post('invitation/accept', { secret, password: PASSWORD })).status;
  await suspend(person, new Date());
  expect(await accept()).toBe(403);
  expect((await server.rest.call('POST', invitationPath(person), { key: adminKey, body: {} })).statusCode).toBe(409);
  await suspend(person, null);
  expect((await server.rest.call('DELETE', `/v2/account/users/${person.userId}`, { key: adminKey })).statusCode).toBe(
    202,
  );
  expect(await accept()).toBe(403);
  await server.rest.database.pool.query('delete from api_keys where user_id = $1', [person.userId]);
  await server.rest.database.pool.query('delete from users where id = $1', [person.userId]);
  expect(await accept()).toBe(404);
});

test('only admins who may do everything invite, and only people', async () => {
  const person = await server.rest.addPerson('quinn');
  const status = async (key: string, path = invitationPath(person), body = {}) =>
    (await server.rest.call('POST', path, { key, body })).statusCode;
  expect(await status(server.rest.alice.key)).toBe(403);
  const { rows } = await server.rest.database.pool.query("select id from users where name = 'admin'");
  const admin = { userId: rows[0].id, key: '' };
  expect(await status(await server.rest.keyFor(admin, 'users:write'))).toBe(403);
  expect(await status(await server.rest.keyFor(admin, 'all'))).toBe(403);
  const team = await server.rest.call('POST', '/v2/teams', { key: adminKey, body: { name: 'crew' } });
  expect(await status(adminKey, `/v2/account/users/${team.json().id}/invitation`)).toBe(409);
  expect(await status(adminKey, '/v2/account/users/nobody/invitation')).toBe(404);
  for (const expiresInHours of [0, 721, 1.5]) {
    expect(await status(adminKey, invitationPath(person), { expiresInHours })).toBe(422);
  }
});

test('short and common passwords are refused, and leave the invitation as it is', async () => {
  const secret = await invite(await server.rest.addPerson('rolf haugen'));
  for (const password of ['short', 'password2026', 'rolf.haugen.2026', 'x'.repeat(1000)]) {
    const response = await post('invitation/accept', { secret, password });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('password: ')]);
  }
  expect((await post('invitation/accept', { secret, password: PASSWORD })).status).toBe(201);
});

test('an answer does not tell whether an account exists: its words, its headers and its limit are the same', async () => {
  await newAccount('sara');
  const facts = async (login: string) => {
    const response = await signIn(login, 'not the password');
    return [response.status, await response.text(), [...response.headers.keys()].sort()];
  };
  expect(await facts('nobody')).toEqual(await facts('sara'));
  const limited = async (login: string) => {
    for (let i = 0; i < MAX_OF_ACCOUNT; i++) await signIn(login, 'not the password');
    return (await signIn(login, 'not the password')).status;
  };
  expect([await limited('sara'), await limited('nobody')]).toEqual([429, 429]);
});

test('brute force of one account from many addresses is stopped, also many tries at the same moment', async () => {
  const { person } = await newAccount('tess');
  const statuses = await Promise.all(
    Array.from({ length: MAX_OF_ACCOUNT * 2 }, async (_, i) => (await signIn('tess', 'wrong', `192.0.2.${i}`)).status),
  );
  expect(statuses.filter((status) => status === 401)).toHaveLength(MAX_OF_ACCOUNT);
  expect(statuses.filter((status) => status === 429)).toHaveLength(MAX_OF_ACCOUNT);
  const right = await signIn('tess', PASSWORD, '192.0.2.200');
  expect(right.status).toBe(429);
  expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(800);
  await server.rest.database.pool.query(`update sign_in_tries set since = since - interval '16 minutes'`);
  expect((await signIn('tess')).status).toBe(201);
  const entries = await server.rest.database.pool.query(
    `select outcome, reason from audit_entries where operation = 'session.create' and owner_id = $1 and outcome = 'refused'`,
    [person.userId],
  );
  expect(entries.rows).toContainEqual({ outcome: 'refused', reason: `wrong password of ${person.userId}` });
});

test('brute force of many accounts from one address is stopped, and nobody else is', async () => {
  await newAccount('ulla');
  const from = '2001:db8:1:2::';
  const statuses: number[] = [];
  const guess = async (i: number) => statuses.push((await signIn(`victim ${i}`, 'wrong', `${from}${i}`)).status);
  await guess(1);
  await server.rest.database.pool.query('update sign_in_tries set tries = $1', [MAX_OF_NETWORK - 2]);
  for (const i of [2, 3, 4]) await guess(i);
  expect(statuses).toEqual([401, 401, 401, 429]); // all addresses of a client's network count as one
  expect((await signIn('ulla', PASSWORD, `${from}ffff`)).status).toBe(429);
  expect((await signIn('ulla', PASSWORD, '2001:db8:1:3::1')).status).toBe(201);
});

test('right passwords do not count, however many', async () => {
  await newAccount('vera');
  for (let i = 0; i <= MAX_OF_ACCOUNT; i++) expect((await signIn('vera')).status).toBe(201);
});

test('a suspended user is told so only with the right password', async () => {
  const { person, session } = await newAccount('wanda');
  await suspend(person, new Date());
  server.rest.bus.publish('user', person.userId);
  expect((await signIn('wanda', 'wrong')).status).toBe(401);
  expect((await signIn('wanda')).status).toBe(403);
  await expect.poll(() => accountStatus(session)).toBe(403);
  await suspend(person, null);
});

test('a password is changed with the old one or soon after signing in, and ends the other sessions', async () => {
  const { session } = await newAccount('xenia');
  const other = await sessionOf(await signIn('xenia'));
  const change = async (current: string, password: string, as = session) =>
    (await post('password/change', { current, password }, { session: as })).status;
  expect(await change('not the password', OTHER)).toBe(403);
  expect(await change(PASSWORD, 'short')).toBe(400);
  expect([await accountStatus(session), await accountStatus(other)]).toEqual([200, 200]);
  expect(await change(PASSWORD, OTHER)).toBe(200);
  await expect.poll(() => accountStatus(other)).toBe(401);
  expect(await accountStatus(session)).toBe(200);
  expect([(await signIn('xenia')).status, (await signIn('xenia', OTHER)).status]).toEqual([401, 201]);
  expect(await change('', PASSWORD)).toBe(200); // a minute after signing in
  await server.rest.database.pool.query(
    `update sessions set created_at = now() - interval '11 minutes' where id = $1`,
    [session.id],
  );
  expect(await change('', OTHER)).toBe(403);
});

test('the session of a key changes no password without the old one; nobody gets one without an invitation', async () => {
  const { person } = await newAccount('yara');
  const narrow = await server.signIn(await server.rest.keyFor(person, 'account:write'));
  const wide = await server.signIn(await server.rest.keyFor(person, 'all', 'exec', 'files:write'));
  for (const session of [narrow, wide]) {
    expect((await post('password/change', { current: '', password: OTHER }, { session })).status).toBe(403);
  }
  const session = await server.signIn(server.rest.bob.key);
  expect((await post('password/change', { current: '', password: OTHER }, { session })).status).toBe(409);
  expect((await post('password/change', { current: PASSWORD, password: OTHER })).status).toBe(401);
});

test('a forgotten password is replaced by a new invitation, which ends all sessions', async () => {
  const { person, session } = await newAccount('zoe');
  const secret = await invite(person);
  expect(await accountStatus(session)).toBe(200); // the link alone changes nothing
  expect((await post('invitation/accept', { secret, password: OTHER })).status).toBe(201);
  await expect.poll(() => accountStatus(session)).toBe(401);
  expect([(await signIn('zoe')).status, (await signIn('zoe', OTHER)).status]).toEqual([401, 201]);
});

test('an admin takes a password away, with the sessions that began with it; keys go on, and nobody else may', async () => {
  const { person, session } = await newAccount('sonja');
  const byKey = await server.signIn(person.key);
  const remove = (key: string) =>
    server.rest
      .call('DELETE', `/v2/account/users/${person.userId}/password`, { key })
      .then(({ statusCode }) => statusCode);
  expect([await remove(person.key), await accountStatus(session)]).toEqual([403, 200]);
  expect([await remove(adminKey), await remove(adminKey)]).toEqual([204, 404]);
  await expect.poll(() => accountStatus(session)).toBe(401);
  expect(await accountStatus(byKey)).toBe(200);
  expect((await signIn('sonja')).status).toBe(401);
});

test('an email of two accounts signs in neither, and no name passes for an email', async () => {
  const { person } = await newAccount('twin one');
  const { person: second } = await newAccount('twin two');
  const { pool } = server.rest.database;
  await pool.query(`update users set email = 'twin@example.org' where id = any($1)`, [[person.userId, second.userId]]);
  expect((await signIn('twin@example.org')).status).toBe(401);
  const { person: thief } = await newAccount('thief');
  await pool.query(`update users set email = null, name = 'first@example.org' where id = $1`, [thief.userId]);
  const session = await sessionOf(await signIn('first@example.org'));
  expect(await (await server.send('/v2/account', { session })).json()).toMatchObject({ name: 'first' });
});

test('requests of other sites, and bodies that are not what the page sends, are refused', async () => {
  const body = { login: 'first', password: PASSWORD };
  const send = async (headers: Record<string, string>, text = JSON.stringify(body)) =>
    (await server.send('/sign-in/password', { method: 'POST', headers, body: text })).status;
  expect(await send({ origin: 'https://evil.example' })).toBe(403);
  expect(await send({})).toBe(403);
  expect(await send({ origin: server.url, 'sec-fetch-site': 'cross-site' })).toBe(403);
  const { origin } = { origin: server.url };
  expect(await send({ origin, 'content-type': 'text/plain' })).toBe(415);
  for (const text of ['{', '[]', 'null', '{}', '{"login":1,"password":""}', '{"login":"a\\u0000","password":"b"}']) {
    expect(await send({ origin }, text), text).toBe(400);
  }
  expect(await send({ origin }, 'x'.repeat(70_000))).toBe(413);
  expect(await send({ origin }, JSON.stringify({ login: 'x'.repeat(60_000), password: 'y' }))).toBe(401);
  expect(await send({ origin }, JSON.stringify({ login: 'first', password: 'y'.repeat(60_000) }))).toBe(401);
});

test('switched off, nobody signs in with a password or is invited', async () => {
  server.own.isLocalOn = false;
  server.reload();
  try {
    expect((await signIn('first')).status).toBe(404);
    expect(await (await server.send('/sign-in/providers')).json()).toMatchObject({ hasPasswords: false });
  } finally {
    server.own.isLocalOn = true;
    server.reload();
  }
});

test('no secret, password or hash is in the audit log', async () => {
  const { rows } = await server.rest.database.pool.query<{ operation: string; entry: string }>(
    `select operation, a::text as entry from audit_entries a`,
  );
  const operations = new Set(rows.map(({ operation }) => operation));
  for (const name of ['invitation.create', 'invitation.accept', 'invitation.revoke', 'password.change']) {
    expect(operations).toContain(name);
  }
  expect(rows.filter(({ entry }) => /py[ips]_[\w-]{9}|argon2|pelican|tortoise/.test(entry))).toEqual([]);
});

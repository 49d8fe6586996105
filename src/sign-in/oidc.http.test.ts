import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrowserSession, type SignInServer, startSignInServer } from '../../test/sign-in-server.ts';
import { SignInVisitor } from '../../test/sign-in-visitor.ts';
import { CLIENT_ID, CLIENT_SECRET, OidcServer } from '../../test/stand-ins/oidc-server.ts';
import type { UserId } from '../core/ids.ts';
import { change } from '../domain/change.ts';
import { groupsOf } from '../domain/sessions/identity-store.ts';
import { joinIdentity } from '../domain/sessions/join-identity.ts';
import { ProviderClient } from './provider-client.ts';
import type { Provider } from './read-providers.ts';

let server: SignInServer;
let provider: OidcServer;

/** As in a file of settings; `userGroups` and `joinByEmail` are changed by tests. */
const SETTINGS: Provider = {
  ...{ name: 'acme', title: 'Acme', issuer: '', clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
  scopes: 'openid email profile groups',
  claims: { name: 'preferred_username', email: 'email', groups: 'groups' },
  ...{ adminGroups: ['admins'], auditorGroups: null, billingGroups: null, teams: [] },
  ...{ type: 'oidc', userGroups: ['staff'], joinByEmail: false },
};

beforeAll(async () => {
  server = await startSignInServer();
  provider = await OidcServer.start();
  provider.serve(server.url);
  server.clients.set('acme', new ProviderClient({ ...SETTINGS, issuer: provider.issuer }));
  server.reload();
});
beforeEach(() => {
  provider.accounts.set('anna', person('anna'));
  provider.account = 'anna';
});
afterEach(() => {
  provider.tamper = null;
  provider.isAway = false;
});
afterAll(async () => {
  await server.close();
  await provider.close();
});

function person(name: string, groups = ['staff']) {
  const email = `${name}@example.org`;
  return { sub: name, preferred_username: name, email, email_verified: true, groups };
}

const Visitor = class extends SignInVisitor {
  constructor() {
    super(server.url, 'acme');
  }
};
type Visitor = SignInVisitor;

const accountOf = async (session: BrowserSession) => (await server.send('/v2/account', { session })).json();
const status = async (session: BrowserSession) => (await server.send('/v2/account', { session })).status;
const countUsers = async () => (await server.rest.database.pool.query('select from users')).rowCount;

/** Returns the callback's status for a sign-in that is refused; the page has to say `text`. */
async function refusal(visitor: Visitor, url: string, text: RegExp): Promise<number> {
  const before = [await countUsers(), (await server.rest.database.pool.query('select from sessions')).rowCount];
  const response = await visitor.get(url);
  expect(await response.text()).toMatch(text);
  const { rows } = await server.rest.database.pool.query<{ reason: string }>(
    `select reason from audit_entries where operation = 'session.create' and outcome = 'refused' order by seq desc limit 1`,
  );
  expect(rows[0]?.reason).toMatch(/^\w+: /);
  expect(response.headers.get('location')).toBeNull();
  expect([await countUsers(), (await server.rest.database.pool.query('select from sessions')).rowCount]).toEqual(
    before,
  );
  return response.status;
}

test('the first sign-in makes a user, the next one finds them, and both return to the page asked for', async () => {
  const first = await new Visitor().signIn('/endpoints/abc?tab=live');
  expect(first.to).toBe('/endpoints/abc?tab=live');
  const account = await accountOf(first);
  expect(account).toMatchObject({ name: 'anna', email: 'anna@example.org', role: 'USER' });
  expect(await accountOf(await new Visitor().signIn())).toEqual(account);
  const { id } = account as { id: UserId };
  expect(await groupsOf(server.rest.database.pool, id)).toEqual(['staff']);
  const list = await (await server.send('/v2/account/sessions', { session: first })).json();
  expect(list).toMatchObject({ sessions: [{ madeBy: 'OIDC', madeWith: 'acme' }, { madeBy: 'OIDC' }] });
});

test.each([
  'https://evil.example/',
  '//evil.example',
  '/\\evil.example',
  '%2F%2Fevil.example',
  '/%5Cevil.example',
  '/a\r\nset-cookie: x=y',
  'javascript:alert(1)',
])('the sign-in never leads to %j', async (to) => {
  const session = await new Visitor().signIn(to);
  // Behind the console's #, these are paths of the console.
  expect(session.to).toBe(['//evil.example', '/%5Cevil.example'].includes(to) ? to : '/');
});

test('a state is used once, by the browser that began', async () => {
  const visitor = new Visitor();
  const url = await visitor.toCallback();
  expect(await refusal(new Visitor(), url, /began in another browser/)).toBe(401);
  const kept = new Map(visitor.cookies);
  expect((await visitor.get(url)).status).toBe(302);
  for (const [name, value] of kept) visitor.cookies.set(name, value);
  expect(await refusal(visitor, url, /used before/)).toBe(401);
  const other = new Visitor();
  const mixed = new URL(await other.toCallback());
  mixed.searchParams.set('code', new URL(url).searchParams.get('code')!); // another attempt's code
  expect(await refusal(other, mixed.href, /did not confirm/)).toBe(401);
});

test('behind https, an attempt that a page of a subdomain planted signs nobody in', async () => {
  const start = `/sign-in/oidc/acme?to=/`;
  const begun = await server.send(start, { headers: { 'x-forwarded-proto': 'https' } });
  const [cookie, ...attributes] = begun.headers.getSetCookie().at(-1)!.split('; ');
  expect(cookie).toMatch(/^__Host-podyard_attempt_[\w-]{12}=/);
  expect(attributes).toEqual(['Path=/', 'Max-Age=600', 'HttpOnly', 'SameSite=Lax', 'Secure']);
  const { url } = await new Visitor().follow(begun.headers.get('location')!, '/callback?');
  const [victim, attacked] = [new Visitor(), new Visitor()];
  const [name, value] = cookie!.split('=') as [string, string];
  attacked.cookies.set(name.replace('__Host-', ''), value);
  expect(await refusal(attacked, url, /began in another browser/)).toBe(401);
  victim.cookies.set(name, value);
  expect((await victim.get(url)).headers.get('location')).toContain('#signed-in=');
});

test('of several visits of one callback at once, one signs in', async () => {
  const visitor = new Visitor();
  const url = await visitor.toCallback();
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const visits = Array.from({ length: 4 }, () => fetch(url, { headers: { cookie }, redirect: 'manual' }));
  expect((await Promise.all(visits)).map((response) => response.status).toSorted()).toEqual([302, 401, 401, 401]);
});

test('an email that two providers claim is the first one’s', async () => {
  const { pool } = server.rest.database;
  await pool.query(`insert into users (id, name, email) values ('u-twice', 'twice', 'twice@example.org')`);
  const claim = (issuer: string) =>
    change({ pool, bus: server.rest.bus, facts: { takesSeveralUsers: true } }, null, joinIdentity, {
      ...{ issuer, subject: 's', name: 'twice', email: 'Twice@example.org', isEmailVerified: true, joinByEmail: true },
      ...{ groups: [], role: null, teams: [] },
    });
  const both = await Promise.allSettled([claim('https://one.example'), claim('https://two.example')]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  await expect(claim('https://three.example')).rejects.toThrow(/already a user with your email/);
  expect((await pool.query(`select from identities where user_id = 'u-twice'`)).rowCount).toBe(1);
  await pool.query(`delete from users where id = 'u-twice'`);
  const users = await Promise.all([claim('https://one.example'), claim('https://one.example')]);
  expect(new Set(users).size).toBe(1); // one person who signs in twice at once is one user
});

test('an email that two users have joins neither', async () => {
  const { pool } = server.rest.database;
  await pool.query(
    `insert into users (id, name, email) values ('u-1', 'one', 'both@x.org'), ('u-2', 'two', 'both@x.org')`,
  );
  await expect(join({ email: 'both@x.org' })).rejects.toThrow(/already a user with your email/);
});

test('beside programs that share the machine, a sign-in makes no further user', async () => {
  const { pool } = server.rest.database;
  await pool.query(`insert into settings (key, value) values ('installation', '{"runtime": "process"}')
                    on conflict (key) do update set value = excluded.value`);
  await pool.query("insert into processes (id, roles, seen_at) values ('p', '{control}', now())");
  await expect(join({ takesSeveralUsers: false })).rejects.toMatchObject({ kind: 'conflict' });
  expect(await join({})).toEqual(expect.any(String));
  expect(await join({ takesSeveralUsers: false })).toEqual(expect.any(String)); // a known user still signs in
});

/** Joins an identity as a sign-in does. */
function join({ email = null, takesSeveralUsers = true }: { email?: string | null; takesSeveralUsers?: boolean }) {
  const { pool } = server.rest.database;
  return change({ pool, bus: server.rest.bus, facts: { takesSeveralUsers } }, null, joinIdentity, {
    ...{
      issuer: 'https://four.example',
      subject: 's',
      name: 'joined',
      email,
      isEmailVerified: true,
      joinByEmail: true,
    },
    ...{ groups: [], role: null, teams: [] },
  });
}

test('a provider that refuses, and an answer of another provider, sign nobody in', async () => {
  const visitor = new Visitor();
  const url = new URL(await visitor.toCallback());
  url.searchParams.delete('code');
  url.searchParams.set('error', 'access_denied');
  url.searchParams.set('error_description', '<script>alert(1)</script>');
  expect(await refusal(visitor, url.href, /did not confirm/)).toBe(401);
  const second = new Visitor();
  const other = new URL(await second.toCallback());
  other.searchParams.set('iss', 'https://evil.example');
  expect(await refusal(second, other.href, /did not confirm/)).toBe(401);
  expect(await refusal(new Visitor(), `${server.url}/sign-in/oidc/acme/callback`, /try again/i)).toBe(401);
});

const claimsIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
const resign = (changes: object) => (token: string) => provider.sign({ ...claimsIn(token), ...changes });
const unsigned = (token: string) => {
  const head = Buffer.from('{"alg":"none"}').toString('base64url');
  return `${head}.${token.split('.')[1]}.`;
};
const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

test.each<[string, () => (token: string) => string, RegExp]>([
  ['another audience', () => resign({ aud: 'somebody-else' }), /did not confirm/],
  ['another issuer', () => resign({ iss: 'https://evil.example' }), /did not confirm/],
  ['another nonce', () => resign({ nonce: 'replayed' }), /did not confirm/],
  ['the algorithm none', () => unsigned, /did not confirm/],
  ['a signature of another token', () => (token) => `${token.slice(0, -20)}${'A'.repeat(20)}`, /did not confirm/],
  ['an end five minutes ago', () => resign({ exp: secondsFromNow(-300) }), /clocks of Acme and of this server differ/],
  ['a begin in five minutes', () => resign({ nbf: secondsFromNow(300) }), /clocks of Acme and of this server differ/],
])('an id token with %s signs nobody in', async (_what, tamper, text) => {
  const visitor = new Visitor();
  const url = await visitor.toCallback();
  provider.tamper = tamper();
  expect(await refusal(visitor, url, text)).toBe(401);
});

test.each<[string, () => object]>([
  ['ended half a minute ago', () => ({ exp: secondsFromNow(-30) })],
  ['begins in half a minute', () => ({ nbf: secondsFromNow(30) })],
  ['was made in five minutes', () => ({ iat: secondsFromNow(300) })], // its nonce and its code say that it is of now
  ['was made five minutes ago', () => ({ iat: secondsFromNow(-300) })],
])('clocks may differ a little: an id token that %s signs in', async (_what, changes) => {
  provider.tamper = resign(changes());
  expect(await status(await new Visitor().signIn())).toBe(200);
});

test('a key that was rotated since the last sign-in is found, and the one before signs nobody in', async () => {
  await new Visitor().signIn();
  const signBefore = provider.rotateKeys();
  expect(await status(await new Visitor().signIn())).toBe(200);
  const visitor = new Visitor();
  const url = await visitor.toCallback();
  provider.tamper = (token) => signBefore(claimsIn(token));
  expect(await refusal(visitor, url, /did not confirm/)).toBe(401);
});

test('groups decide who signs in and who is an admin, at each sign-in', async () => {
  provider.accounts.set('gus', person('gus', ['guests']));
  provider.account = 'gus';
  const visitor = new Visitor();
  expect(await refusal(visitor, await visitor.toCallback(), /none of the groups/)).toBe(403);
  provider.accounts.set('gus', person('gus', ['admins']));
  const asAdmin = await new Visitor().signIn();
  expect(await accountOf(asAdmin)).toMatchObject({ role: 'ADMIN' });
  await server.rest.database.pool.query(`update users set role = 'ADMIN' where name = 'bob'`); // another admin
  provider.accounts.set('gus', person('gus', ['staff']));
  expect(await accountOf(await new Visitor().signIn())).toMatchObject({ role: 'USER' });
  expect(await status(asAdmin)).toBe(401); // a new role ends sessions
});

test('the last admin stays one, whatever their groups', async () => {
  await server.rest.database.pool.query(`update users set role = 'USER'`);
  provider.accounts.set('lea', person('lea', ['admins']));
  provider.account = 'lea';
  await new Visitor().signIn();
  provider.accounts.set('lea', person('lea', ['staff']));
  expect(await accountOf(await new Visitor().signIn())).toMatchObject({ role: 'ADMIN' });
});

test('an email that another user has takes nobody over, unless it is verified and the settings say so', async () => {
  const { pool } = server.rest.database;
  await pool.query(`update users set email = 'ALICE@example.org' where name = 'alice'`);
  provider.accounts.set('a1', { ...person('alice'), sub: 'a1' });
  provider.account = 'a1';
  const visitor = new Visitor();
  expect(await refusal(visitor, await visitor.toCallback(), /already a user with your email/)).toBe(409);
  const joining = new ProviderClient({ ...SETTINGS, issuer: provider.issuer, joinByEmail: true });
  const former = server.clients.get('acme')!;
  server.clients.set('acme', joining);
  server.reload();
  try {
    provider.accounts.set('a1', { ...person('alice'), sub: 'a1', email_verified: false });
    const second = new Visitor();
    expect(await refusal(second, await second.toCallback(), /already a user with your email/)).toBe(409);
    provider.accounts.set('a1', { ...person('alice'), sub: 'a1' });
    expect(await accountOf(await new Visitor().signIn())).toMatchObject({
      id: server.rest.alice.userId,
      name: 'alice',
    });
    provider.accounts.set('a2', { ...person('alice'), sub: 'a2' }); // somebody else who claims the same email
    provider.account = 'a2';
    const third = new Visitor();
    expect(await refusal(third, await third.toCallback(), /already a user with your email/)).toBe(409);
  } finally {
    server.clients.set('acme', former);
    server.reload();
  }
});

test('a name that is taken gets a number', async () => {
  provider.accounts.set('b9', { sub: 'b9', preferred_username: 'bob', groups: ['staff'] });
  provider.account = 'b9';
  expect(await accountOf(await new Visitor().signIn())).toMatchObject({ name: 'bob 2', email: null });
});

test('a suspended user does not sign in', async () => {
  const session = await new Visitor().signIn();
  const { id } = (await accountOf(session)) as { id: string };
  const suspend = `update users set suspended_at = $2, suspended_workloads = $3 where id = $1`;
  await server.rest.database.pool.query(suspend, [id, new Date(), 'KEEP']);
  try {
    const visitor = new Visitor();
    expect(await refusal(visitor, await visitor.toCallback(), /suspended/)).toBe(403);
  } finally {
    await server.rest.database.pool.query(suspend, [id, null, null]);
  }
});

test('while the provider is away, sessions and keys go on, and the page says what happened', async () => {
  const session = await new Visitor().signIn();
  provider.isAway = true;
  server.clients.set('acme', new ProviderClient({ ...SETTINGS, issuer: provider.issuer })); // nothing of it is known
  server.reload();
  const response = await server.send('/sign-in/oidc/acme?to=%2F');
  expect(response.status).toBe(503);
  expect(await response.text()).toContain('Acme does not answer as it should.');
  await server.rest.database.pool.query('update sessions set refresh_at = now() where id = $1', [session.id]);
  await server.refresh();
  expect(await status(session)).toBe(200);
  expect((await server.rest.call('GET', '/v2/account', { key: server.rest.alice.key })).statusCode).toBe(200);
  provider.isAway = false;
  expect(await status(await new Visitor().signIn())).toBe(200);
});

const makeDue = (id: string) =>
  server.rest.database.pool.query('update sessions set refresh_at = now() where id = $1', [id]);

/** Why the audit log says that sessions ended. */
async function endsOf(...sessions: BrowserSession[]): Promise<string[]> {
  const { rows } = await server.rest.database.pool.query<{ reason: string }>(
    `select reason from audit_entries where operation = 'session.end' and actor_kind = 'system' and record_id = any($1)`,
    [sessions.map(({ id }) => id)],
  );
  return rows.map(({ reason }) => reason);
}

test('whoever leaves the group, or has no account any more, is signed out by the refresh', async () => {
  const session = await new Visitor().signIn();
  await makeDue(session.id);
  await server.refresh();
  expect(await status(session)).toBe(200);
  provider.accounts.set('anna', person('anna', ['former-staff']));
  await makeDue(session.id);
  await server.refresh();
  await expect.poll(() => status(session)).toBe(401);
  provider.accounts.set('anna', person('anna'));
  const next = await new Visitor().signIn();
  provider.accounts.delete('anna');
  await makeDue(next.id);
  await server.refresh();
  await expect.poll(() => status(next)).toBe(401);
  expect(await endsOf(session, next)).toEqual(Array(2).fill('acme vouches for the account no longer'));
});

test('tokens of the provider are sealed', async () => {
  const session = await new Visitor().signIn();
  const { rows } = await server.rest.database.pool.query<{ tokens: Buffer }>(
    'select tokens from sessions where id = $1',
    [session.id],
  );
  expect(rows[0]!.tokens.toString('latin1')).not.toContain('eyJ');
  expect(server.rest.secretBox.open(rows[0]!.tokens, session.id)).toContain('"idToken":"eyJ');
});

test("a sign-out leads to the provider's own", async () => {
  const session = await new Visitor().signIn();
  const response = await server.send('/sign-in/out', { session, method: 'POST' });
  const { url } = (await response.json()) as { url: string };
  expect(url).toMatch(`${provider.issuer}/session/end?`);
  expect(new URL(url).searchParams.get('post_logout_redirect_uri')).toBe(`${server.url}/`);
  expect(new URL(url).searchParams.get('id_token_hint')).toMatch(/^eyJ/);
  expect(await status(session)).toBe(401);
});

test('a sign-out at the provider ends the sessions of the account at once', async () => {
  const [session, other] = [await new Visitor().signIn(), await new Visitor().signIn()];
  provider.accounts.set('ben', person('ben'));
  provider.account = 'ben';
  const bens = await new Visitor().signIn();
  expect((await provider.logOut({ sub: 'anna' })).status).toBe(200);
  await expect.poll(async () => [await status(session), await status(other)]).toEqual([401, 401]);
  expect(await status(bens)).toBe(200);
  expect(await endsOf(session, other, bens)).toEqual(Array(2).fill('acme signed the account out'));
});

test('a logout token that is forged, replayed, old or for somebody else ends nothing', async () => {
  const session = await new Visitor().signIn();
  const sub = 'anna';
  const wrong: [string, object][] = [
    ['audience', { aud: 'somebody-else' }],
    ['issuer', { iss: 'https://evil.example' }],
    ['age', { iat: secondsFromNow(-3600) }],
    ['event', { events: {} }],
    ['nonce', { nonce: 'n' }],
    ['subject', { sub: undefined }],
    ['id', { jti: undefined }],
  ];
  for (const [what, changes] of wrong) {
    expect([what, (await provider.logOut({ sub }, { ...changes })).status]).toEqual([what, 400]);
  }
  const token = provider.sign({ sub });
  for (const sent of ['', 'a.b.c', unsigned(token), `${token}x`, provider.sign({ sub }, { alg: 'HS256' })]) {
    expect((await provider.sendLogout(sent)).status).toBe(400);
  }
  expect(await status(session)).toBe(200);
  const jti = 'once';
  expect((await provider.logOut({ sub: 'nobody', jti })).status).toBe(200);
  expect((await provider.logOut({ sub, jti })).status).toBe(400);
  expect(await status(session)).toBe(200);
});

test('the providers are listed without their secrets', async () => {
  const response = await server.send('/sign-in/providers');
  expect(await response.json()).toEqual({
    providers: [{ name: 'acme', title: 'Acme' }],
    ...{ hasPasswords: false, hasPasskeys: false },
  });
});

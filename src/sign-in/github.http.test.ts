import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrowserSession, type SignInServer, startSignInServer } from '../../test/sign-in-server.ts';
import { SignInVisitor } from '../../test/sign-in-visitor.ts';
import { type GithubAccount, GithubServer } from '../../test/stand-ins/github-server.ts';
import { GithubClient } from './github-client.ts';
import type { Provider } from './read-providers.ts';

const OCTO: GithubAccount = {
  id: 583_231,
  login: 'octocat',
  emails: [
    { email: 'old@example.org', primary: false, verified: true },
    { email: 'octo@example.org', primary: true, verified: true },
  ],
  organizations: ['acme'],
  teams: ['acme/platform'],
};

let server: SignInServer;
let github: GithubServer;
let settings: Provider;

beforeAll(async () => {
  [server, github] = await Promise.all([startSignInServer(), GithubServer.start()]);
  settings = {
    ...{ type: 'github', name: 'github', title: 'GitHub', issuer: github.issuer },
    ...{ clientId: 'id', clientSecret: 'secret', scopes: 'read:user user:email read:org', joinByEmail: false },
    claims: { name: 'preferred_username', email: 'email', groups: 'groups' },
    ...{ adminGroups: ['acme/owners'], auditorGroups: ['acme/security'], billingGroups: null, teams: [] },
    userGroups: ['acme'],
  };
  use(settings);
});
beforeEach(() => {
  github.account = structuredClone(OCTO);
});
afterEach(() => {
  github.failsWith = null;
});
afterAll(async () => {
  await server.close();
  await github.close();
});

function use(provider: Provider): void {
  server.clients.set('github', new GithubClient(provider));
  server.reload();
}

const visitor = () => new SignInVisitor(server.url, 'github');
const accountOf = async (session: BrowserSession) => (await server.send('/v2/account', { session })).json();
const status = async (session: BrowserSession) => (await server.send('/v2/account', { session })).status;
const refresh = async ({ id }: BrowserSession) => {
  await server.rest.database.pool.query('update sessions set refresh_at = now() where id = $1', [id]);
  await server.refresh();
};
/** Returns the callback's answer to a sign-in that is refused. */
async function refusal(): Promise<{ status: number; text: string }> {
  const someone = visitor();
  const response = await someone.get(await someone.toCallback());
  return { status: response.status, text: await response.text() };
}

test('people are known by their number: who takes over a name is somebody else', async () => {
  const account = await accountOf(await visitor().signIn());
  expect(account).toMatchObject({ name: 'octocat', email: 'octo@example.org', role: 'USER' });
  github.account = { ...OCTO, login: 'renamed' };
  expect(await accountOf(await visitor().signIn())).toMatchObject({ id: (account as { id: string }).id });
  github.account = { ...OCTO, id: 7, emails: [] };
  expect(await accountOf(await visitor().signIn())).toMatchObject({ name: 'octocat 2', email: null });
});

test('only the primary email counts, and only if it is verified', async () => {
  const emails = [
    { email: 'claimed@example.org', primary: true, verified: false },
    { email: 'second@example.org', primary: false, verified: true },
  ];
  github.account = { ...OCTO, id: 8, login: 'eve', emails };
  expect(await accountOf(await visitor().signIn())).toMatchObject({ name: 'eve', email: null });
});

test('organizations and teams are groups, all pages of them', async () => {
  const organizations = [...Array.from({ length: 120 }, (_, i) => `org-${i}`), 'acme'];
  github.account = { ...OCTO, id: 9, login: 'mona', emails: [], organizations, teams: ['acme/security'] };
  expect(await accountOf(await visitor().signIn())).toMatchObject({ name: 'mona', role: 'AUDITOR' });
  github.account = { ...OCTO, id: 10, organizations: ['other'], teams: [] };
  expect(await refusal()).toMatchObject({ status: 403, text: expect.stringContaining('none of the groups') });
});

test('who leaves the organization, or revokes the access, is signed out by the refresh', async () => {
  github.account = { ...OCTO, id: 11, login: 'leaver', emails: [] };
  const session = await visitor().signIn();
  await refresh(session);
  expect(await status(session)).toBe(200);
  github.account.organizations = [];
  await refresh(session);
  await expect.poll(() => status(session)).toBe(401);

  github.account = { ...OCTO, id: 12, login: 'revoker', emails: [] };
  const next = await visitor().signIn();
  github.tokens.clear();
  await refresh(next);
  await expect.poll(() => status(next)).toBe(401);
});

test('while GitHub fails, sessions go on and the page says so', async () => {
  github.account = { ...OCTO, id: 13, login: 'patient', emails: [] };
  const session = await visitor().signIn();
  for (const fails of [500, 403, 429]) {
    github.failsWith = fails;
    await refresh(session);
    expect(await status(session)).toBe(200);
    expect(await refusal()).toMatchObject({
      status: 503,
      text: expect.stringContaining('GitHub does not answer as it should.'),
    });
  }
});

test('a wrong secret, a code of another attempt, a replayed one and a refusal sign nobody in', async () => {
  use({ ...settings, clientSecret: 'wrong' });
  expect(await refusal()).toMatchObject({ status: 401, text: expect.stringContaining('did not confirm') });
  use(settings);
  const [first, second] = [visitor(), visitor()];
  const url = await first.toCallback();
  const mixed = new URL(await second.toCallback());
  mixed.searchParams.set('code', new URL(url).searchParams.get('code')!);
  expect((await second.get(mixed.href)).status).toBe(401);
  expect((await first.get(url)).status).toBe(401); // GitHub gave the code away once
  const third = visitor();
  const denied = new URL(await third.toCallback());
  denied.searchParams.set('error', 'access_denied');
  expect((await third.get(denied.href)).status).toBe(401);
});

test('GitHub has no way to end sessions by itself', async () => {
  expect((await server.send('/sign-in/oidc/github/logout', { method: 'POST' })).status).toBe(404);
});

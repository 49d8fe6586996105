/** Roles and teams that come with groups of a provider, and go with them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrowserSession, type SignInServer, startSignInServer } from '../../test/sign-in-server.ts';
import { SignInVisitor } from '../../test/sign-in-visitor.ts';
import { CLIENT_ID, CLIENT_SECRET, OidcServer } from '../../test/stand-ins/oidc-server.ts';
import { readIdentity } from './claims.ts';
import { ProviderClient } from './provider-client.ts';
import type { Provider } from './read-providers.ts';

const SETTINGS: Provider = {
  ...{ type: 'oidc', name: 'acme', title: 'Acme', issuer: '', clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
  scopes: 'openid email profile groups',
  claims: { name: 'preferred_username', email: 'email', groups: 'groups' },
  ...{ adminGroups: ['admins'], auditorGroups: ['auditors'], billingGroups: ['finance'] },
  teams: [
    { group: 'ml', team: 'ml', role: 'DEVELOPER' },
    { group: 'ml-leads', team: 'ml', role: 'OPERATOR' },
    { group: 'web', team: 'web', role: 'OWNER' },
    { group: 'staff', team: 'nowhere', role: 'VIEWER' },
  ],
  ...{ userGroups: ['staff'], joinByEmail: false },
};

let server: SignInServer;
let provider: OidcServer;
let people = 0;
let name = '';

beforeAll(async () => {
  [server, provider] = await Promise.all([startSignInServer(), OidcServer.start()]);
  provider.serve(server.url);
  server.clients.set('acme', new ProviderClient({ ...SETTINGS, issuer: provider.issuer }));
  server.reload();
  await query(`update users set role = 'ADMIN' where name = 'bob'`); // somebody whom no group makes one
  await query(`insert into users (id, name, kind) values ('team-ml', 'ml', 'TEAM'), ('team-web', 'web', 'TEAM')`);
  await query(`insert into team_members (team_id, user_id, role) select t.id, u.id, 'OWNER' from users t, users u
               where t.kind = 'TEAM' and u.name = 'alice'`);
});
beforeEach(() => {
  people += 1;
  name = `person-${people}`;
});
afterAll(async () => {
  await server.close();
  await provider.close();
});

const query = (text: string, values: unknown[] = []) => server.rest.database.pool.query(text, values);

async function signIn(...groups: string[]): Promise<BrowserSession> {
  provider.accounts.set(name, { sub: name, preferred_username: name, groups });
  provider.account = name;
  return new SignInVisitor(server.url, 'acme').signIn();
}
/** Asks the provider again, after it has changed its mind about the groups. */
async function refresh({ id }: BrowserSession, ...groups: string[]): Promise<void> {
  provider.accounts.set(name, { sub: name, preferred_username: name, groups });
  await query('update sessions set refresh_at = now() where id = $1', [id]);
  await server.refresh();
}
async function standing(): Promise<unknown> {
  const { rows } = await query(
    `select u.role, coalesce(jsonb_object_agg(t.name, m.role) filter (where t.id is not null), '{}') as teams
     from users u left join team_members m on m.user_id = u.id left join users t on t.id = m.team_id
     where u.name = $1 group by u.id`,
    [name],
  );
  return rows[0];
}
const status = async (session: BrowserSession) => (await server.send('/v2/account', { session })).status;
const entries = async (operation: string) =>
  (
    await query(
      `select e.outcome, e.reason, e.changes from audit_entries e
       where e.operation = $1 and (e.owner_id = (select id from users where name = $2) or e.changes::text like
         '%' || (select id from users where name = $2) || '%') order by e.seq`,
      [operation, name],
    )
  ).rows;

test.each([
  [['staff'], 'USER', {}],
  [['admins', 'auditors'], 'ADMIN', {}],
  [['auditors', 'finance'], 'AUDITOR', {}],
  [['finance'], 'BILLING', {}],
  [['staff', 'ml'], 'USER', { ml: 'DEVELOPER' }],
  [['staff', 'ml', 'ml-leads', 'web'], 'USER', { ml: 'OPERATOR', web: 'OWNER' }],
])('the groups %j make a %s in the teams %j', async (groups, role, teams) => {
  await signIn(...groups);
  expect(await standing()).toEqual({ role, teams });
});

test('the refresh gives and takes, and the audit log says from what to what', async () => {
  const session = await signIn('staff', 'ml');
  await refresh(session, 'staff', 'ml-leads');
  expect(await standing()).toEqual({ role: 'USER', teams: { ml: 'OPERATOR' } });
  expect(await status(session)).toBe(200);
  await refresh(session, 'staff');
  expect(await standing()).toEqual({ role: 'USER', teams: {} });
  const roles = (await entries('team.update-member')).map(({ changes }) => changes.members.flatMap(Object.values));
  expect(roles).toEqual([
    [null, 'DEVELOPER'],
    ['DEVELOPER', 'OPERATOR'],
    ['OPERATOR', null],
  ]);
});

test('another role ends the sessions', async () => {
  const session = await signIn('auditors');
  await refresh(session, 'staff');
  await expect.poll(() => status(session)).toBe(401);
  expect(await entries('user.update')).toMatchObject([{ outcome: 'done', changes: { role: ['AUDITOR', 'USER'] } }]);
});

test('who leaves the groups that may sign in loses what they gave, and keys do no more than the rest', async () => {
  const session = await signIn('staff', 'admins', 'ml');
  await refresh(session, 'strangers');
  await expect.poll(() => status(session)).toBe(401);
  expect(await standing()).toEqual({ role: 'USER', teams: {} });

  await signIn('staff', 'finance', 'ml');
  expect(await standing()).toEqual({ role: 'BILLING', teams: { ml: 'DEVELOPER' } });
  await expect(signIn('strangers')).rejects.toThrow(/answered 403/); // without a session that is refreshed
  expect(await standing()).toEqual({ role: 'USER', teams: {} });
});

test('what a person gave stays, whatever the groups say', async () => {
  const session = await signIn('staff', 'web');
  await query(
    `insert into team_members (team_id, user_id, role) select 'team-ml', id, 'VIEWER' from users where name = $1`,
    [name],
  );
  await refresh(session, 'staff', 'ml-leads', 'web');
  expect(await standing()).toEqual({ role: 'USER', teams: { ml: 'VIEWER', web: 'OWNER' } });
  const { id } = (await query('select id from users where name = $1', [name])).rows[0];
  const changed = await server.rest.call('PATCH', `/v2/teams/team-web/members/${id}`, {
    key: server.rest.alice.key,
    body: { role: 'DEVELOPER' },
  });
  expect(changed.statusCode).toBe(200);
  await refresh(session, 'staff');
  expect(await standing()).toEqual({ role: 'USER', teams: { ml: 'VIEWER', web: 'DEVELOPER' } });
});

test('the last active owner of a team and the last admin stay, which the audit log says', async () => {
  const session = await signIn('admins', 'web');
  await query(
    `delete from team_members where team_id = 'team-web' and user_id <> (select id from users where name = $1)`,
    [name],
  );
  await query(`update users set role = 'USER' where name <> $1 and kind = 'PERSON'`, [name]);
  try {
    await refresh(session, 'staff');
    expect(await standing()).toEqual({ role: 'ADMIN', teams: { web: 'OWNER' } });
    expect((await entries('user.update')).at(-1)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('they are the only active admin'),
    });
    expect((await entries('team.update-member')).at(-1)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('the only active owner'),
    });
    await refresh(session); // leaves all groups
    expect(await standing()).toEqual({ role: 'ADMIN', teams: { web: 'OWNER' } });
  } finally {
    await query(`update users set role = 'ADMIN' where name = 'bob'`);
  }
});

test('a team that is being deleted takes no one in', async () => {
  await query(
    `update users set suspended_at = now(), suspended_workloads = 'STOP', removing_at = now() where id = 'team-ml'`,
  );
  try {
    await signIn('staff', 'ml');
    expect(await standing()).toEqual({ role: 'USER', teams: {} });
  } finally {
    await query(
      `update users set suspended_at = null, suspended_workloads = null, removing_at = null where id = 'team-ml'`,
    );
  }
});

test('groups that the provider leaves out take nothing away: the page says what to do', () => {
  const claims = { sub: 's', _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://x' } } };
  expect(() => readIdentity(SETTINGS, claims)).toThrow(/You are in more groups than Acme sends: have an admin/);
  expect(() => readIdentity(SETTINGS, claims)).toThrow(expect.objectContaining({ kind: 'unauthorized' }));
  expect(readIdentity(SETTINGS, { ...claims, groups: ['staff'] })).toMatchObject({ groups: ['staff'] });
  const none = { adminGroups: null, auditorGroups: null, billingGroups: null, userGroups: null, teams: [] };
  expect(readIdentity({ ...SETTINGS, ...none }, claims)).toMatchObject({ role: null, teams: [] });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CallOptions, type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { newId } from '../../core/ids.ts';

/** docs/interface/teams.md. */
let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  rest = await startRestApp();
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());

interface NewTeam {
  id: string;
  name: string;
  owner: Person;
}

/** A team whose owner is new as well. */
async function newTeam(name = `team-${newId(6)}`): Promise<NewTeam> {
  const owner = await rest.addPerson(`owner-${newId(6)}`);
  const response = await rest.call('POST', '/v2/teams', { key: admin.key, body: { name, ownerId: owner.userId } });
  expect(response.statusCode).toBe(201);
  return { id: response.json().id, name, owner };
}

async function join(team: NewTeam, role: string, person?: Person): Promise<Person> {
  const member = person ?? (await rest.addPerson(`member-${newId(6)}`));
  const body = { userId: member.userId, role };
  const response = await rest.call('POST', `/v2/teams/${team.id}/members`, { key: team.owner.key, body });
  expect([response.statusCode, response.json().role]).toEqual([201, role]);
  return member;
}

/** Calls as somebody who acts for a team. */
const act = (method: string, path: string, person: { key: string }, team: string, options: CallOptions = {}) =>
  rest.call(method as 'GET', path, { key: person.key, ...options, headers: { 'podyard-team': team } });
const answer = ({ statusCode, body }: { statusCode: number; body: string }) => [
  statusCode,
  body.replace(/"(request_id|requestId|instance)":"[^"]*"/g, ''),
];
const detail = async (response: Promise<{ statusCode: number; json(): { detail: string } }>) => {
  const { statusCode, json } = await response.then((given) => ({ statusCode: given.statusCode, json: given.json() }));
  return [statusCode, json.detail];
};
const ENDPOINT = { name: 'e', image: 'i:1', gpu: { pools: ['ADA_24'] } };
const NO_TEAM = [403, 'access denied: you are in no such team'];

describe('a team', () => {
  test('owns what its members create for it, and each of them sees it there and not among their own', async () => {
    const team = await newTeam();
    const developer = await join(team, 'DEVELOPER');
    const viewer = await join(team, 'VIEWER');
    const made = await act('POST', '/v2/serverless', developer, team.name, { body: ENDPOINT });
    expect(made.statusCode).toBe(201);
    const { id } = made.json();
    expect((await act('GET', `/v2/serverless/${id}`, viewer, team.id)).json()).toMatchObject({ id });
    expect((await act('GET', '/v2/account', viewer, team.id)).json()).toMatchObject({ id: team.id, role: 'USER' });
    for (const person of [developer, viewer, admin]) {
      expect((await rest.call('GET', `/v2/serverless/${id}`, { key: person.key })).statusCode).toBe(404);
    }
    const { rows } = await rest.database.pool.query('select user_id from endpoints where id = $1', [id]);
    expect(rows).toEqual([{ user_id: team.id }]);
  });

  test('is listed for its members, and with `all` for admins; people are listed without teams', async () => {
    const team = await newTeam();
    const viewer = await join(team, 'VIEWER');
    const stranger = await rest.addPerson(`stranger-${newId(6)}`);
    const list = async (key: string, query = '') => (await rest.call('GET', `/v2/teams${query}`, { key })).json().teams;
    const seen = { id: team.id, name: team.name, status: 'ACTIVE', members: 2 };
    expect(await list(viewer.key)).toEqual([expect.objectContaining({ ...seen, role: 'VIEWER' })]);
    expect(await list(stranger.key)).toEqual([]);
    expect(await list(admin.key)).toEqual([]);
    expect(await list(admin.key, '?all=true')).toContainEqual(expect.objectContaining({ ...seen, role: null }));
    expect((await rest.call('GET', '/v2/teams?all=true', { key: viewer.key })).statusCode).toBe(403);
    const people = await rest.call('GET', `/v2/account/users?search=${team.name}`, { key: admin.key });
    expect(people.json()).toEqual({ users: [], next: null });
  });

  test('is changed by an admin with a key that may change users, and with no other', async () => {
    const team = await newTeam();
    const add = async (...scopes: string[]) => {
      const key = await rest.keyFor(admin, 'account:write', ...scopes);
      const body = { userId: rest.bob.userId, role: 'VIEWER' };
      return (await rest.call('POST', `/v2/teams/${team.id}/members`, { key, body })).statusCode;
    };
    expect([await add(), await add('users:read'), await add('users:write')]).toEqual([404, 404, 201]);
  });

  test('has limits and budgets as a user has, set at the same routes', async () => {
    const team = await newTeam();
    const limits = { key: admin.key, body: { endpoints: 1 } };
    expect((await rest.call('PATCH', `/v2/account/users/${team.id}/limits`, limits)).statusCode).toBe(200);
    expect((await act('POST', '/v2/serverless', team.owner, team.id, { body: ENDPOINT })).statusCode).toBe(201);
    expect((await act('POST', '/v2/serverless', team.owner, team.id, { body: ENDPOINT })).statusCode).toBe(403);
    const budget = { key: admin.key, body: { userId: team.id, amount: '10' } };
    expect((await rest.call('POST', '/v2/billing/budgets', budget)).json()).toMatchObject({ userName: team.name });
    const role = await rest.call('PATCH', `/v2/account/users/${team.id}`, { key: admin.key, body: { role: 'ADMIN' } });
    expect(role.statusCode).toBe(409);
  });

  test('has keys of its own, made by its owners, which act as the team and grant no more than their maker’s', async () => {
    const team = await newTeam();
    const operator = await join(team, 'OPERATOR');
    const key = { name: 'ci', scopes: ['serverless:write'] };
    expect(await detail(act('POST', '/v2/account/api-keys', operator, team.id, { body: key }))).toEqual([
      403,
      'access denied: the role OPERATOR does not permit this',
    ]);
    const made = await act('POST', '/v2/account/api-keys', team.owner, team.id, { body: key });
    expect(made.json()).toMatchObject({ name: 'ci', createdBy: { userId: team.owner.userId } });
    const service = { key: made.json().secret };
    expect((await rest.call('POST', '/v2/serverless', { ...service, body: ENDPOINT })).statusCode).toBe(201);
    expect((await act('GET', '/v2/serverless', service, team.name)).json().endpoints).toHaveLength(1);
    expect((await rest.call('GET', '/v2/pods', service)).statusCode).toBe(403);
    const narrow = { key: await rest.keyFor(team.owner, 'account:write') };
    const wide = { name: 'wide', scopes: ['all'] };
    expect((await act('POST', '/v2/account/api-keys', narrow, team.id, { body: wide })).statusCode).toBe(403);
  });

  test('is named like no user and no other team', async () => {
    const team = await newTeam();
    for (const name of ['alice', team.name, 'admin']) {
      const made = await rest.call('POST', '/v2/teams', { key: admin.key, body: { name } });
      expect([made.statusCode, made.json().detail]).toEqual([409, `there is already a user named '${name}'`]);
    }
    const other = await newTeam();
    const rename = (name: string) => rest.call('PATCH', `/v2/teams/${other.id}`, { key: admin.key, body: { name } });
    expect((await rename(team.name)).statusCode).toBe(409);
    expect((await rename('Vision 2')).json()).toMatchObject({ id: other.id, name: 'Vision 2' });
    expect((await act('GET', '/v2/account', other.owner, 'Vision 2')).statusCode).toBe(200);
    expect(
      await detail(rest.call('POST', '/v2/account/users', { key: admin.key, body: { name: 'Vision 2' } })),
    ).toEqual([409, "there is already a user named 'Vision 2'"]);
  });

  test('is made and renamed by admins only, and every body is checked', async () => {
    const team = await newTeam();
    const { key } = team.owner;
    expect((await rest.call('POST', '/v2/teams', { key, body: { name: 'mine' } })).statusCode).toBe(403);
    expect((await rest.call('PATCH', `/v2/teams/${team.id}`, { key, body: { name: 'mine' } })).statusCode).toBe(403);
    const create = (body: object) => rest.call('POST', '/v2/teams', { key: admin.key, body });
    for (const body of [{}, { name: '' }, { name: ' x' }, { name: 'x', members: [] }]) {
      expect((await create(body)).statusCode).toBe(422);
    }
    expect((await create({ name: 'x', ownerId: 'missing' })).statusCode).toBe(404);
    expect((await create({ name: 'x', ownerId: team.id })).statusCode).toBe(404); // no team is in a team
    expect((await rest.call('GET', '/v2/teams', {})).statusCode).toBe(401);
  });
});

describe('the header', () => {
  test('naming a team of others, an unknown one or a user gets one answer, byte for byte', async () => {
    const team = await newTeam();
    const { key } = await rest.addPerson(`stranger-${newId(6)}`);
    const names = [team.id, team.name, newId(14), 'nothing', rest.alice.userId, 'alice'];
    const answers = await Promise.all(names.map((name) => act('GET', '/v2/pods', { key }, name)));
    expect(new Set(answers.map((one) => JSON.stringify(answer(one)))).size).toBe(1);
    expect(await detail(act('DELETE', `/v2/pods/${newId(14)}`, { key }, team.id))).toEqual(NO_TEAM);
  });

  test('to strangers a team and its members are as if they did not exist', async () => {
    const team = await newTeam();
    const { key } = await rest.addPerson(`stranger-${newId(6)}`);
    const calls = (id: string) => [
      rest.call('GET', `/v2/teams/${id}`, { key }),
      rest.call('DELETE', `/v2/teams/${id}`, { key }),
      rest.call('GET', `/v2/teams/${id}/members`, { key }),
      rest.call('POST', `/v2/teams/${id}/members`, { key, body: { userId: team.owner.userId, role: 'OWNER' } }),
      rest.call('PATCH', `/v2/teams/${id}/members/${team.owner.userId}`, { key, body: { role: 'VIEWER' } }),
      rest.call('DELETE', `/v2/teams/${id}/members/${team.owner.userId}`, { key }),
    ];
    const [foreign, missing, user] = await Promise.all(
      [team.id, newId(14), rest.alice.userId].map((id) => Promise.all(calls(id))),
    );
    expect(foreign!.map(answer)).toEqual(missing!.map(answer));
    expect(user!.map(answer)).toEqual(missing!.map(answer));
    expect(foreign!.map(({ statusCode }) => statusCode)).toEqual(foreign!.map(() => 404));
  });

  test('gives no rights of an admin, and takes none from the key', async () => {
    const team = await newTeam();
    await join(team, 'OWNER', admin);
    expect((await act('GET', '/v2/account/users', admin, team.id)).statusCode).toBe(403);
    const reader = { key: await rest.keyFor(team.owner, 'pods:read') };
    expect((await act('GET', '/v2/pods', reader, team.id)).statusCode).toBe(200);
    expect((await act('GET', '/v2/serverless', reader, team.id)).statusCode).toBe(403);
    const own = await act('GET', '/v2/account', team.owner, team.owner.userId);
    expect(own.json()).toMatchObject({ id: team.owner.userId });
    expect((await act('GET', '/v2/account', team.owner, '')).json()).toMatchObject({ id: team.owner.userId });
  });

  test('acts over GraphQL as over REST', async () => {
    const team = await newTeam();
    const developer = await join(team, 'DEVELOPER');
    const { id } = (await act('POST', '/v2/serverless', developer, team.id, { body: ENDPOINT })).json();
    const send = async (query: string, person: Person, name: string) => {
      const headers = { authorization: `Bearer ${person.key}`, 'podyard-team': name };
      const response = await rest.callGraphql({ method: 'POST', url: '/graphql', headers, payload: { query } });
      return response.json();
    };
    const { data } = await send('{ myself { id endpoints { id } } }', developer, team.name);
    expect(data.myself).toEqual({ id: team.id, endpoints: [{ id }] });
    const remove = `mutation { deleteEndpoint(id: "${id}") }`;
    expect((await send(remove, developer, team.id)).errors[0].message).toMatch(/access denied/);
    expect((await send('{ myself { id } }', rest.bob, team.id)).errors[0].message).toBe(NO_TEAM[1]);
    expect((await send(remove, team.owner, team.id)).errors).toBeUndefined();
  });
});

describe('members', () => {
  test('are added, promoted and removed by owners and admins, and by nobody else', async () => {
    const team = await newTeam();
    const operator = await join(team, 'OPERATOR');
    const viewer = await join(team, 'VIEWER');
    const members = `/v2/teams/${team.id}/members`;
    const add = { userId: rest.bob.userId, role: 'VIEWER' };
    expect((await rest.call('POST', members, { key: operator.key, body: add })).statusCode).toBe(403);
    const promote = { key: operator.key, body: { role: 'OWNER' } };
    expect((await rest.call('PATCH', `${members}/${operator.userId}`, promote)).statusCode).toBe(403);
    expect((await rest.call('DELETE', `${members}/${viewer.userId}`, { key: operator.key })).statusCode).toBe(403);
    expect((await rest.call('POST', members, { key: admin.key, body: add })).statusCode).toBe(201);
    expect((await rest.call('POST', members, { key: admin.key, body: add })).statusCode).toBe(409);
    const byOwner = { key: team.owner.key, body: { role: 'DEVELOPER' } };
    expect((await rest.call('PATCH', `${members}/${viewer.userId}`, byOwner)).json()).toMatchObject({
      role: 'DEVELOPER',
    });
    expect((await rest.call('PATCH', `${members}/missing`, byOwner)).statusCode).toBe(404);
    expect((await rest.call('DELETE', `${members}/${operator.userId}`, { key: operator.key })).statusCode).toBe(204); // leaves
    expect(await detail(act('GET', '/v2/pods', operator, team.id))).toEqual(NO_TEAM);
    const { members: left } = (await rest.call('GET', members, { key: viewer.key })).json();
    expect(left.map(({ userId, role }: { userId: string; role: string }) => [userId, role])).toEqual([
      [team.owner.userId, 'OWNER'],
      [viewer.userId, 'DEVELOPER'],
      [rest.bob.userId, 'VIEWER'],
    ]);
    await rest.call('DELETE', `${members}/${rest.bob.userId}`, { key: team.owner.key });
    for (const body of [{ userId: 'x' }, { userId: 'x', role: 'ADMIN' }, { userId: 'x', role: 'OWNER', name: 'y' }]) {
      expect((await rest.call('POST', members, { key: team.owner.key, body })).statusCode).toBe(422);
    }
  });

  test('the last active owner neither leaves nor is demoted, suspended or deleted', async () => {
    const team = await newTeam();
    const second = await join(team, 'OWNER');
    await join(team, 'OPERATOR');
    const users = '/v2/account/users';
    const { key } = admin;
    expect((await rest.call('POST', `${users}/${second.userId}/suspend`, { key, body: {} })).statusCode).toBe(200);
    const member = `/v2/teams/${team.id}/members/${team.owner.userId}`;
    const refused = await Promise.all([
      rest.call('DELETE', member, { key: team.owner.key }),
      rest.call('PATCH', member, { key: team.owner.key, body: { role: 'OPERATOR' } }),
      rest.call('POST', `${users}/${team.owner.userId}/suspend`, { key, body: {} }),
      rest.call('DELETE', `${users}/${team.owner.userId}`, { key }),
    ]);
    for (const response of refused) {
      expect([response.statusCode, response.json().detail]).toEqual([
        409,
        expect.stringMatching(
          /^'owner-\w+' is the only active owner of the team 'team-\w+': make another member its owner/,
        ),
      ]);
    }
    await rest.call('POST', `${users}/${second.userId}/resume`, { key });
    expect((await rest.call('DELETE', member, { key: team.owner.key })).statusCode).toBe(204);
  });

  test('of two owners who leave at once, one stays', async () => {
    const team = await newTeam();
    const second = await join(team, 'OWNER');
    const leave = ({ userId, key }: Person) => rest.call('DELETE', `/v2/teams/${team.id}/members/${userId}`, { key });
    const statuses = (await Promise.all([leave(team.owner), leave(second)])).map(({ statusCode }) => statusCode);
    expect(statuses.sort()).toEqual([204, 409]);
  });

  test('a suspended person joins no team, and does nothing for one', async () => {
    const team = await newTeam();
    const member = await join(team, 'OPERATOR');
    await rest.call('POST', `/v2/account/users/${member.userId}/suspend`, { key: admin.key, body: {} });
    expect(await detail(act('GET', '/v2/pods', member, team.id))).toEqual([
      403,
      'this account is suspended: ask an admin of this server',
    ]);
    const other = await newTeam();
    const body = { userId: member.userId, role: 'VIEWER' };
    expect((await rest.call('POST', `/v2/teams/${other.id}/members`, { key: admin.key, body })).statusCode).toBe(409);
    const { members } = (await rest.call('GET', `/v2/teams/${team.id}/members`, { key: team.owner.key })).json();
    expect(members[1]).toMatchObject({ userId: member.userId, isSuspended: true });
  });

  test('what a member has open for the team ends within seconds when they are removed or get another role', async () => {
    for (const change of [{ role: null }, { role: 'VIEWER' }]) {
      const team = await newTeam();
      const member = await join(team, 'OPERATOR');
      const url = await rest.app.listen({ port: 0, host: '127.0.0.1' }).catch(() => address());
      const headers = { authorization: `Bearer ${member.key}`, 'podyard-team': team.id };
      const stream = await fetch(`${url}/v2/pods/live`, { headers });
      const reader = stream.body!.getReader();
      await reader.read(); // it has begun
      const path = `/v2/teams/${team.id}/members/${member.userId}`;
      const { key } = team.owner;
      if (change.role === null) await rest.call('DELETE', path, { key });
      else await rest.call('PATCH', path, { key, body: change });
      while (!(await reader.read()).done); // the server ends it; the test's time limit is the bound
    }
  });
});

const address = () => {
  const { port } = rest.app.server.address() as { port: number };
  return `http://127.0.0.1:${port}`;
};

describe('a suspended team', () => {
  test('is acted for by nobody, with a sentence for members and the usual answer for strangers', async () => {
    const team = await newTeam();
    const viewer = await join(team, 'VIEWER');
    const service = (
      await act('POST', '/v2/account/api-keys', team.owner, team.id, { body: { name: 'k', scopes: ['all'] } })
    ).json();
    const suspend = await rest.call('POST', `/v2/account/users/${team.id}/suspend`, { key: admin.key, body: {} });
    expect(suspend.statusCode).toBe(200);
    const sentence = [403, `the team '${team.name}' is suspended: ask an admin of this server`];
    expect(await detail(act('GET', '/v2/pods', viewer, team.id))).toEqual(sentence);
    expect(await detail(act('GET', '/v2/pods', rest.bob, team.id))).toEqual(NO_TEAM);
    expect((await rest.call('GET', '/v2/pods', { key: service.secret })).statusCode).toBe(403);
    const members = { key: team.owner.key, body: { userId: rest.bob.userId, role: 'VIEWER' } };
    expect(await detail(rest.call('POST', `/v2/teams/${team.id}/members`, members))).toEqual(sentence);
    expect((await rest.call('GET', `/v2/teams/${team.id}`, { key: viewer.key })).json()).toMatchObject({
      status: 'SUSPENDED',
    });
    await rest.call('POST', `/v2/account/users/${team.id}/resume`, { key: admin.key });
    expect((await act('GET', '/v2/pods', viewer, team.id)).statusCode).toBe(200);
  });
});

describe('deleting a team', () => {
  test('needs it empty, or a new owner, who for an owner is themselves or another team of theirs', async () => {
    const [team, other] = [await newTeam(), await newTeam()];
    await act('POST', '/v2/serverless', team.owner, team.id, { body: ENDPOINT });
    const path = `/v2/teams/${team.id}`;
    const { key } = team.owner;
    expect(await detail(rest.call('DELETE', path, { key }))).toEqual([
      409,
      `the team '${team.name}' still owns endpoints (1): delete them first, or hand them over`,
    ]);
    const handOver = (id: string) => rest.call('DELETE', `${path}?handOverTo=${id}`, { key });
    const [foreign, missing] = await Promise.all([other.id, newId(14)].map(handOver));
    expect([foreign!.statusCode, answer(foreign!)]).toEqual([404, answer(missing!)]);
    await join(other, 'OPERATOR', team.owner);
    expect((await handOver(other.id)).statusCode).toBe(404);
    const deleted = await rest.call('DELETE', `${path}?handOverTo=${team.owner.userId}`, { key });
    expect([deleted.statusCode, deleted.json().status]).toEqual([202, 'DELETING']);
    expect((await rest.call('GET', '/v2/serverless', { key })).json().endpoints).toHaveLength(1);
    expect((await act('GET', '/v2/pods', team.owner, team.id)).statusCode).toBe(403);
    expect((await rest.call('DELETE', path, { key })).statusCode).toBe(409);
  });

  test('keeps nobody: its last owner may be deleted', async () => {
    const team = await newTeam();
    const { userId, key } = team.owner;
    const remove = () => rest.call('DELETE', `/v2/account/users/${userId}`, { key: admin.key });
    expect((await remove()).statusCode).toBe(409);
    expect((await rest.call('DELETE', `/v2/teams/${team.id}`, { key })).statusCode).toBe(202);
    expect((await remove()).statusCode).toBe(202);
  });

  test('is for owners and admins', async () => {
    const team = await newTeam();
    const operator = await join(team, 'OPERATOR');
    expect((await rest.call('DELETE', `/v2/teams/${team.id}`, { key: operator.key })).statusCode).toBe(403);
    expect((await rest.call('DELETE', `/v2/teams/${team.id}`, { key: admin.key })).statusCode).toBe(202);
  });
});

describe('roles in the installation', () => {
  const withRole = async (role: string): Promise<Person> => {
    const body = { name: `person-${newId(6)}`, role };
    const { userId, key } = (await rest.call('POST', '/v2/account/users', { key: admin.key, body })).json();
    return { userId, key: key.secret };
  };

  test('an auditor reads what every account owns, without secrets, values of env and payloads, and changes nothing', async () => {
    const auditor = await withRole('AUDITOR');
    const team = await newTeam();
    const body = { ...ENDPOINT, env: { TOKEN: 'hunter2' } };
    const { id } = (await act('POST', '/v2/serverless', team.owner, team.id, { body })).json();
    for (const account of [team.id, team.name]) {
      const seen = await act('GET', `/v2/serverless/${id}`, auditor, account);
      expect([seen.statusCode, seen.json().env]).toEqual([200, { TOKEN: '(hidden)' }]);
    }
    expect((await act('GET', '/v2/serverless', auditor, team.id)).body).not.toContain('hunter2');
    expect((await act('GET', '/v2/pods', auditor, 'alice')).statusCode).toBe(200);
    for (const [method, path] of [
      ['GET', '/v2/account/secrets'],
      ['GET', '/v2/pods/live'],
      ['GET', `/v2/serverless/${id}/requests/${newId(14)}`],
      ['PATCH', `/v2/serverless/${id}`],
      ['DELETE', `/v2/serverless/${id}`],
    ] as const) {
      const options = method === 'PATCH' ? { body: { name: 'x' } } : {};
      expect([path, (await act(method, path, auditor, team.id, options)).statusCode]).toEqual([path, 403]);
    }
    expect(await detail(act('GET', '/v2/pods', auditor, 'nothing'))).toEqual(NO_TEAM);
    const query = { url: '/graphql', method: 'POST', payload: { query: '{ myself { id } }' } } as const;
    const headers = { authorization: `Bearer ${auditor.key}`, 'podyard-team': team.id };
    expect((await rest.callGraphql({ ...query, headers })).statusCode).toBe(403);
  });

  test('billing reads the costs and budgets of all, and nothing else of others', async () => {
    const billing = await withRole('BILLING');
    const team = await newTeam();
    for (const path of ['/v2/billing/budgets?userId=all', '/v2/billing/costs?userId=all']) {
      expect([path, (await rest.call('GET', path, { key: billing.key })).statusCode]).toEqual([path, 200]);
    }
    const budget = { key: billing.key, body: { userId: team.id, amount: '10' } };
    expect((await rest.call('POST', '/v2/billing/budgets', budget)).statusCode).toBe(403);
    expect((await rest.call('GET', '/v2/account/users', { key: billing.key })).statusCode).toBe(403);
    expect(await detail(act('GET', '/v2/pods', billing, team.id))).toEqual(NO_TEAM);
  });

  test('are given by keys that may do everything only', async () => {
    const manager = await rest.keyFor(admin, 'users:write');
    for (const role of ['ADMIN', 'AUDITOR', 'BILLING']) {
      const made = await rest.call('POST', '/v2/account/users', { key: manager, body: { name: 'x', role, key: null } });
      expect([role, made.statusCode]).toEqual([role, 403]);
    }
  });
});

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describedBy, type Operation } from '../../test/check-answer.ts';
import { ModelHub } from '../../test/model-hub.ts';
import { type Person, type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { newId, type UserId } from '../core/ids.ts';
import { REST_REVISIONS } from '../core/rest-revisions.ts';
import { type Role, TEAM_ROLES, type TeamRole } from '../domain/access/roles.ts';

/**
 * docs/interface/teams.md, "Roles": every operation of REST v2, of REST v1 and of GraphQL, called in each role, is refused
 * or not as this table says. What it does not name is: a GET reads, a DELETE deletes, and the others write.
 */
const OPERATORS = new Set([
  ...['deletePod', 'deleteCluster', 'deleteEndpoint', 'deleteTemplate', 'deleteNetworkVolume', 'deleteRegistry'],
  ...['deleteRegistryDelegation', 'deleteSecret', 'rollbackRelease', 'getPodJupyter'],
  ...['createPodTerminal', 'createWorkerTerminal', 'endTerminal'],
]);
const OWNERS = new Set([
  ...['createApiKey', 'deleteApiKey', 'replaceSshKeys', 'createBudget', 'updateBudget', 'deleteBudget'],
  ...['updateApiKey', 'rotateApiKey', 'endSession', 'createS3Key', 'deleteS3Key'],
  ...['createNoticeDestination', 'updateNoticeDestination', 'deleteNoticeDestination', 'testNoticeDestination'],
  ...['deleteTeam', 'addTeamMember', 'updateTeamMember', 'removeTeamMember'],
]);
/** Routes that belong to no team: admins may call them, and these other roles of the installation. */
const INSTALLATION: Record<string, readonly Role[]> = {
  ...all(['ADMIN', 'AUDITOR'], ['listUsers', 'getUser', 'planUserRemoval', 'getUserLimits', 'getUserRateLimit']),
  ...all(['ADMIN', 'AUDITOR'], ['listUserApiKeys', 'getInstallationLimits', 'getInstallationHistory', 'getSimulation']),
  ...all(['ADMIN', 'AUDITOR'], ['getMetrics', 'listUserSessions', 'listInstallationEndpoints']),
  ...all(['ADMIN'], ['createUser', 'updateUser', 'suspendUser', 'resumeUser', 'deleteUser', 'updateUserLimits']),
  ...all(['ADMIN'], ['replaceUserRateLimit', 'createUserApiKey', 'deleteUserApiKey', 'updateInstallationLimits']),
  ...all(['ADMIN'], ['endUserSession', 'fetchMachineModel', 'updateMachineModel', 'removeMachineModel']),
  ...all(['ADMIN'], ['createInvitation', 'deleteInvitation', 'removeUserPassword']),
  ...all(['ADMIN', 'AUDITOR'], ['getInvitation']),
  ...all(['ADMIN'], ['updateUserApiKey', 'rotateUserApiKey']),
  ...all(['ADMIN'], ['simulate', 'createTeam', 'updateTeam']),
};
/** Hidden from auditors of other accounts: secrets, and payloads of jobs. */
const HIDDEN = new Set([
  ...['listSecrets', 'getSecret', 'getPodJupyter', 'watchPods'],
  ...['getJob', 'getJobInput', 'getJobOutput', 'getJobError'],
]);
/** They need no key. */
const PUBLIC = new Set(['getHealth', 'getReadiness', 'receiveGitWebhook']);
/** Streams that do not end by themselves: only refusals are awaited. */
const ENDLESS = new Set(['watchAccount', 'watchPods']);

function all(roles: readonly Role[], operations: readonly string[]): Record<string, readonly Role[]> {
  return Object.fromEntries(operations.map((operation) => [operation, roles]));
}

/** Who calls: in a team's name, as an auditor in its name, as a stranger to it, or for their own account. */
interface Caller {
  name: string;
  key: string;
  header?: string;
  role: TeamRole | 'AUDITOR' | 'STRANGER' | { own: Role };
}

let rest: RestFixture;
let hub: ModelHub;
let callers: Caller[];
let team: string;
const KEY_OF = ['all', 'exec'];

beforeAll(async () => {
  hub = await ModelHub.start();
  rest = await startRestApp({ hubUrl: hub.url });
  const admin = await rest.addPerson('admin');
  const made = await rest.call('POST', '/v2/teams', { key: admin.key, body: { name: 'vision' } });
  team = made.json().id;
  const person = async (name: string, role: Role = 'USER'): Promise<Person> => {
    const body = { name, role, key: null };
    const { userId } = (await rest.call('POST', '/v2/account/users', { key: admin.key, body })).json();
    return { userId, key: await rest.keyFor({ userId, key: '' }, ...KEY_OF) };
  };
  const member = async (role: TeamRole): Promise<Caller> => {
    const { userId, key } = await person(role);
    await rest.call('POST', `/v2/teams/${team}/members`, { key: admin.key, body: { userId, role } });
    return { name: role, key, header: team, role };
  };
  const auditor = await person('auditor', 'AUDITOR');
  const own = async (role: Role): Promise<Caller> => {
    const { key } = role === 'ADMIN' ? { key: await rest.keyFor(admin, ...KEY_OF) } : await person(`own ${role}`, role);
    return { name: `own account, ${role}`, key, role: { own: role } };
  };
  callers = [
    ...(await Promise.all(TEAM_ROLES.map(member))),
    { name: 'auditor of the team', key: auditor.key, header: team, role: 'AUDITOR' },
    { name: 'stranger', key: (await person('stranger')).key, header: team, role: 'STRANGER' },
    ...(await Promise.all((['ADMIN', 'USER', 'AUDITOR', 'BILLING'] as const).map(own))),
  ];
});
afterAll(async () => {
  await rest.close();
  await hub.close();
});

function isPermitted({ role }: Caller, method: string, operation: string): boolean {
  if (role === 'STRANGER') return false;
  const roles = INSTALLATION[operation];
  if (typeof role === 'object') return roles === undefined || roles.includes(role.own);
  if (roles !== undefined) return false;
  if (role === 'AUDITOR') return method === 'get' && !HIDDEN.has(operation);
  const wanted = OWNERS.has(operation)
    ? 'OWNER'
    : OPERATORS.has(operation)
      ? 'OPERATOR'
      : method === 'get'
        ? 'VIEWER'
        : 'DEVELOPER';
  return TEAM_ROLES.indexOf(role) >= TEAM_ROLES.indexOf(wanted);
}

interface Call {
  method: string;
  url: string;
  body: unknown;
}

async function statusOf({ key, header }: Caller, { method, url, body }: Call): Promise<number> {
  const options = { key, ...(body !== undefined && { body }), ...(header && { headers: { 'podyard-team': header } }) };
  const send = url.startsWith('/v1/') ? rest.callV1 : rest.call;
  const response = await send(method.toUpperCase(), url, options);
  // A server may refuse what the caller's role permits, such as builds; it says so in another sentence.
  return response.statusCode === 403 && !response.body.includes('access denied') ? 200 : response.statusCode;
}

/** The operation's example for what is refused only after the body; any other body is left out, so that nothing is made. */
function bodyOf(operation: Operation, schemas: Record<string, object>): unknown {
  if (INSTALLATION[operation.operationId] === undefined || !operation.requestBody) return undefined;
  const { $ref } = operation.requestBody.content['application/json']!.schema as { $ref: string };
  const { examples } = schemas[$ref.split('/').at(-1)!] as { examples: Record<string, unknown>[] };
  return { ...examples[0], ...('name' in examples[0]! && { name: newId(8) }) };
}

async function walk(name: string, method: string, call: Call): Promise<string[]> {
  const answers = callers.map(async (caller) => {
    const isExpected = PUBLIC.has(name) || isPermitted(caller, method, name);
    if (isExpected && ENDLESS.has(name)) return [];
    const status = await statusOf(caller, call);
    if ((status !== 403) === isExpected && (status !== 401 || PUBLIC.has(name)) && status < 500) return [];
    return [`${caller.name}: ${name} is a ${status}, and should ${isExpected ? 'not ' : ''}be a 403`];
  });
  return (await Promise.all(answers)).flat();
}

const filled = (path: string) => path.replace(/\{\w+\}/g, () => newId<UserId>());

test('REST v2: every operation of the first revision, and those that later ones add', async () => {
  const seen = new Set<string>();
  const wrong: string[] = [];
  for (const revision of REST_REVISIONS) {
    const { paths, components } = describedBy(revision);
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        if (seen.has(operation.operationId)) continue;
        seen.add(operation.operationId);
        const body = bodyOf(operation, components.schemas);
        const prefix = path.startsWith('/v2/') ? `/${revision}` : '';
        wrong.push(...(await walk(operation.operationId, method, { method, url: `${prefix}${filled(path)}`, body })));
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(seen.size * callers.length).toBeGreaterThan(1_000);
});

test('REST v1', async () => {
  const { paths } = JSON.parse(readFileSync(new URL('../../api/openapi-v1.json', import.meta.url), 'utf8'));
  const wrong: string[] = [];
  for (const [path, operations] of Object.entries(paths as Record<string, Record<string, unknown>>)) {
    for (const method of Object.keys(operations)) {
      // Deletions have one name each, so that the table above decides on them.
      const name = method === 'delete' ? 'deletePod' : `${method} ${path}`;
      wrong.push(...(await walk(name, method, { method, url: filled(path), body: undefined })));
    }
  }
  expect(wrong).toEqual([]);
});

const id = newId(14);
const MUTATIONS: Record<string, [wanted: TeamRole, document: string]> = {
  podStop: ['DEVELOPER', `podStop(input: {podId: "${id}"}) { id }`],
  podResume: ['DEVELOPER', `podResume(input: {podId: "${id}", gpuCount: 1}) { id }`],
  podTerminate: ['OPERATOR', `podTerminate(input: {podId: "${id}"})`],
  saveEndpoint: ['DEVELOPER', `saveEndpoint(input: {id: "${id}", name: "n"}) { id }`],
  deleteEndpoint: ['OPERATOR', `deleteEndpoint(id: "${id}")`],
  deleteCluster: ['OPERATOR', `deleteCluster(input: {id: "${id}"})`],
  secretUpdate: ['DEVELOPER', `secretUpdate(input: {id: "${id}", value: "v"}) { id }`],
  secretDelete: ['OPERATOR', `secretDelete(id: "${id}")`],
  updateRegistryAuth: ['DEVELOPER', `updateRegistryAuth(input: {id: "${id}", username: "u", password: "p"}) { id }`],
  deleteRegistryAuth: ['OPERATOR', `deleteRegistryAuth(registryAuthId: "${id}")`],
  updateNetworkVolume: ['DEVELOPER', `updateNetworkVolume(input: {id: "${id}", name: "n"}) { id }`],
  deleteNetworkVolume: ['OPERATOR', `deleteNetworkVolume(input: {id: "${id}"})`],
  deleteTemplate: ['OPERATOR', `deleteTemplate(templateName: "missing")`],
  updateUserSettings: ['OWNER', `updateUserSettings(input: {pubKey: ""}) { id }`],
};

test.each(Object.entries(MUTATIONS))('GraphQL: %s', async (_, [wanted, document]) => {
  for (const { name, key, header, role } of callers) {
    const headers = { authorization: `Bearer ${key}`, ...(header && { 'podyard-team': header }) };
    const payload = { query: `mutation { ${document} }` };
    const response = await rest.callGraphql({ method: 'POST', url: '/graphql', headers, payload });
    const rank = TEAM_ROLES.indexOf(role as TeamRole);
    const isExpected = typeof role === 'object' || rank >= TEAM_ROLES.indexOf(wanted);
    const isRefused = response.json().errors?.some((error: { message: string }) => /access denied/.test(error.message));
    expect([name, isRefused ?? false]).toEqual([name, !isExpected]);
  }
});

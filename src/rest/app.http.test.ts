import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';

let rest: RestFixture;
let server: Server;
let base: string;
let id: string;
beforeAll(async () => {
  rest = await startRestApp({
    rateLimiter: {
      check: (userId) =>
        userId === rest.bob.userId
          ? { headers: { ratelimit: '"minute";r=0;t=12' }, exceeded: { window: 'minute', retryAfterSeconds: 12 } }
          : { headers: { ratelimit: '"minute";r=59;t=12' }, exceeded: null },
    },
  });
  server = createServer((request, response) => rest.app.routing(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = { name: 'x', image: 'i', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rest.close();
});

test('every response has its own request id and forbids caching', async () => {
  const responses = await Promise.all([
    rest.call('GET', '/v2/serverless', { key: rest.alice.key }),
    rest.call('GET', '/v2/serverless'),
    rest.call('GET', '/nowhere'),
    rest.call('PUT', '/v2/serverless'),
    rest.call('GET', '/v2/serverless/%zz', { key: rest.alice.key }),
    rest.call('GET', '/v2/openapi.json'),
    rest.call('GET', '/healthz'),
  ]);
  expect(new Set(responses.map((response) => response.headers['x-request-id'])).size).toBe(7);
  for (const response of responses) expect(response.headers['cache-control']).toBe('no-store');
});

test.each([
  ['missing', undefined, 'missing bearer token'],
  ['of another scheme', 'Basic YTpi', 'invalid bearer token'],
  ['raw, which only the data plane takes', 'pyk_raw', 'invalid bearer token'],
  ['without a token', 'Bearer ', 'invalid bearer token'],
  ['unknown', 'Bearer pyk_unknown', 'invalid bearer token'],
])('a key that is %s is a 401 problem record that asks for a bearer token', async (_, authorization, detail) => {
  const headers = authorization === undefined ? {} : { authorization };
  const response = await rest.call('GET', '/v2/serverless', { headers });
  expect(response.statusCode).toBe(401);
  expect(response.headers['www-authenticate']).toBe('Bearer');
  expect(response.headers['content-type']).toBe('application/problem+json');
  expect(response.json()).toEqual({ title: 'Unauthorized', status: 401, detail });
});

test('the authorization scheme is case-insensitive', async () => {
  const headers = { authorization: `bearer  ${rest.alice.key}` };
  expect((await rest.call('GET', '/v2/serverless', { headers })).statusCode).toBe(200);
});

test('every response to a valid key has rate-limit headers', async () => {
  const reader = await rest.keyFor(rest.alice, 'read-only');
  const answers = await Promise.all([
    rest.call('GET', '/v2/serverless', { key: rest.alice.key }),
    rest.call('DELETE', '/v2/serverless/x', { key: reader }),
    rest.call('GET', '/v2/serverless/nosuchendpoint', { key: rest.alice.key }),
  ]);
  expect(answers.map((answer) => answer.statusCode)).toEqual([200, 403, 404]);
  for (const answer of answers) expect(answer.headers.ratelimit).toBe('"minute";r=59;t=12');
});

test('an exhausted window is a 429 with Retry-After, before permission and body are checked', async () => {
  const key = await rest.keyFor(rest.bob, 'invoke');
  const response = await rest.call('POST', '/v2/serverless', { key, body: '{' });
  expect(response.statusCode).toBe(429);
  expect(response.headers['retry-after']).toBe('12');
  expect(response.headers.ratelimit).toBe('"minute";r=0;t=12');
  expect(response.json()).toEqual({
    title: 'Too Many Requests',
    status: 429,
    detail: 'rate limit exceeded for the minute window',
  });
});

test('an unknown path is a 404, another method of a known one a 405 that lists the allowed ones', async () => {
  const unknown = await rest.call('GET', '/v2/serverles', { key: rest.alice.key });
  expect(unknown.statusCode).toBe(404);
  expect(unknown.json()).toEqual({ title: 'Not Found', status: 404, detail: 'Path not found' });
  for (const [method, url, allow] of [
    ['PUT', '/v2/serverless', 'GET, HEAD, POST'],
    ['POST', `/v2/serverless/${id}`, 'DELETE, GET, HEAD, PATCH'],
    ['PATCH', '/v2/serverless/a/workers/b/logs', 'GET'],
    ['OPTIONS', '/v2/serverless', 'GET, HEAD, POST'],
    ['DELETE', '/healthz', 'GET, HEAD'],
    ['DELETE', '/v2/serverless/figures', 'GET, HEAD'], // no endpoint has that id
    ['PUT', '/v2/%73erverless?x=/y', 'GET, HEAD, POST'],
    ['PUT', '/v2/serverless//releases', 'GET, HEAD'],
    ['PUT', '/docs/a/b', 'GET, HEAD'],
  ] as const) {
    const response = await rest.call(method, url, { headers: { 'content-type': 'text/plain' }, body: 'x' });
    expect([url, response.statusCode, response.headers.allow]).toEqual([url, 405, allow]);
    expect(response.json().title).toBe('Method Not Allowed');
  }
  const find = async (path: string) => (await fetch(`${base}${path}`, { method: 'PROPFIND' })).status;
  expect(await find('/v2/serverless')).toBe(405);
  expect(await find(`/v2/serverless/${'x'.repeat(501)}`)).toBe(404);
  expect(await find('/v2/serverless/%zz')).toBe(400);
});

test('a path that cannot be decoded is a 400 problem record', async () => {
  for (const method of ['GET', 'PUT'] as const) {
    const response = await rest.call(method, '/v2/serverless/%zz', { key: rest.alice.key });
    expect(response.statusCode).toBe(400);
    expect(response.json().title).toBe('Bad Request');
  }
});

const patch = (body: unknown, headers: Record<string, string> = {}, url = `/v2/serverless/${id}`) =>
  rest.call('PATCH', url, { key: rest.alice.key, body, headers });

test.each([
  ['not JSON', '{"name":'],
  ['two values', '{}{}'],
  ['empty', ''],
])('a body that is %s is a 400', async (_, body) => {
  const response = await patch(body);
  expect(response.statusCode).toBe(400);
  expect(response.json().detail).toMatch(/^The request could not be processed: /);
});

test('a body that is not UTF-8 is a 400', async () => {
  const response = await patch(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]));
  expect(response.statusCode).toBe(400);
  expect(response.json().detail).toBe('The request could not be processed: its body is not valid UTF-8.');
});

test.each([
  ['{"__proto__":{"name":"x"}}', "$: additional property '__proto__' is not allowed"],
  ['{"\\u005f_proto__":{}}', "$: additional property '__proto__' is not allowed"],
  ['{"env":{"__proto__":"x"}}', "/env: additional property '__proto__' is not allowed"],
  ['{"gpu":{"pools":[{"__proto__":1}]}}', "/gpu/pools/0: additional property '__proto__' is not allowed"],
  ['{"constructor":{"prototype":{"x":1}}}', "$: additional property 'constructor' is not allowed"],
])('a body with a member of every object, as %s, is a 422 that names it', async (body, error) => {
  const response = await patch(body);
  expect(response.statusCode).toBe(422);
  expect(response.json().errors).toEqual([error]);
});

test('an environment variable may have any name of its own', async () => {
  const env = { constructor: 'x', prototype: 'y', toString: 'z' };
  expect((await patch({ env })).json().env).toEqual(env);
});

test('no body at all is a 400', async () => {
  const response = await rest.call('PATCH', `/v2/serverless/${id}`, { key: rest.alice.key });
  expect(response.statusCode).toBe(400);
});

test.each([[[]], [null], ['"text"'], ['3']])('a body that is JSON but no object (%j) is a 422', async (body) => {
  const response = await patch(body);
  expect(response.statusCode).toBe(422);
  expect(response.json().errors).toEqual(['$: must be object']);
});

test('the last of duplicate members counts', async () => {
  expect((await patch('{"name":"first","name":"last"}')).json().name).toBe('last');
});

test('another media type is a 415; a charset parameter is accepted', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/merge-patch+json', 'nonsense']) {
    const response = await patch('{}', { 'content-type': type });
    expect([type, response.statusCode]).toEqual([type, 415]);
    expect(response.json().title).toBe('Unsupported Media Type');
  }
  expect((await patch('{}', { 'content-type': 'application/json; charset=utf-8' })).statusCode).toBe(200);
});

test('a body over 1 MiB is a 413 before the record is read; exactly 1 MiB is accepted', async () => {
  const limit = 1024 * 1024;
  const exact = `{"name":"n"}`.padEnd(limit);
  expect((await patch(exact)).statusCode).toBe(200);
  const response = await patch(`${exact} `, {}, '/v2/serverless/nosuchendpoint');
  expect(response.statusCode).toBe(413);
  expect(response.json().title).toBe('Content Too Large');
});

test('512 KiB of environment variables fit, and no text over 100 KiB', async () => {
  const env = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`V${i}`, 'x'.repeat(64 * 1024 - 100)]));
  expect((await patch({ env })).json().env).toEqual(env);
  const long = await patch({ name: 'n'.repeat(100 * 1024 + 1) });
  expect(long.statusCode).toBe(422);
  expect(long.json().errors).toEqual(['/name: must have at most 102400 characters']);
});

test('at most 100 failures of a body are listed', async () => {
  const body = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`p${i}`, 1]));
  expect((await patch(body)).json().errors).toHaveLength(100);
});

test('a body of more than 10,000 members and items is refused before it is validated', async () => {
  const refusal = ['$: it has more than 10000 members and items'];
  const members = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`m${i}`, 0]));
  for (const body of [members, { env: members }, { gpu: { pools: Array.from({ length: 70_000 }, () => 'x') } }]) {
    const response = await patch(body);
    expect([response.statusCode, response.json().errors]).toEqual([422, refusal]);
  }
  const allowed = Object.fromEntries(Array.from({ length: 9_999 }, (_, i) => [`m${i}`, 0]));
  expect((await patch(allowed)).json().errors).toHaveLength(100);
});

test('the description is OpenAPI 3.1, needs no key, lists every operation and the server’s URL', async () => {
  const response = await rest.call('GET', '/v2/openapi.json');
  expect(response.statusCode).toBe(200);
  const document = response.json();
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: { version: '2.0.0' },
    servers: [{ url: 'http://podyard.test:8080' }],
  });
  const operations = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>)
    .flatMap((path) => Object.values(path))
    .map((operation) => operation.operationId);
  expect(operations.toSorted()).toEqual(
    [
      ...['createInvitation', 'getInvitation', 'deleteInvitation', 'removeUserPassword'],
      ...['createNoticeDestination', 'deleteNoticeDestination', 'listNoticeDeliveries', 'listNoticeDestinations'],
      ...['testNoticeDestination', 'updateNoticeDestination', 'rotateUserApiKey', 'updateUserApiKey'],
      ...['endSession', 'endUserSession', 'listSessions', 'listUserSessions'],
      ...['cancelBuild', 'createBuild', 'findMissingFiles', 'getAnyBuild'],
      ...['listAllBuilds', 'retryBuild', 'storeBuildFile', 'storeBuildFiles', 'streamBuildLog', 'renewEndpointLease'],
      ...['getEndpointModels', 'replaceEndpointModels', 'resolveModels'],
      ...['listMachineModels', 'fetchMachineModel', 'updateMachineModel', 'removeMachineModel'],
      ...['deleteGitSource', 'getGitSource', 'receiveGitWebhook', 'replaceGitSource', 'syncGitSource'],
      ...['listTeams', 'createTeam', 'getTeam', 'updateTeam', 'deleteTeam', 'listInstallationEndpoints'],
      ...['listTeamMembers', 'addTeamMember', 'updateTeamMember', 'removeTeamMember'],
      ...['createS3Key', 'deleteS3Key', 'listS3Keys'],
      'changeRollout',
      'createApiKey',
      'createBudget',
      'createCluster',
      'createEndpoint',
      'createNetworkVolume',
      'createPod',
      'createPodTerminal',
      'createRegistry',
      'createRegistryDelegation',
      'createSecret',
      'createTemplate',
      'createUser',
      'createUserApiKey',
      'createWorkerTerminal',
      'deleteApiKey',
      'deleteBudget',
      'deleteCluster',
      'deleteEndpoint',
      'deleteNetworkVolume',
      'deletePod',
      'deleteRegistry',
      'deleteRegistryDelegation',
      'deleteSchedule',
      'deleteSecret',
      'deleteTemplate',
      'deleteUser',
      'deleteUserApiKey',
      'downloadEndpointLog',
      'downloadPodLog',
      'endTerminal',
      'exportAudit',
      'exportCosts',
      'getAccount',
      'getBilling',
      'getCluster',
      'getClusterBilling',
      'getCostForecast',
      'getCosts',
      'getCpuFlavor',
      'getDataCenter',
      'getEndpoint',
      'getEndpointBilling',
      'getEndpointHistory',
      'getEndpointLogs',
      'getEndpointState',
      'getGpuCapacity',
      'getGpuRule',
      'getGpuType',
      'getHealth',
      'getInstallation',
      'getInstallationHistory',
      'getInstallationLimits',
      'getJob',
      'getJobError',
      'getJobInput',
      'getJobOutput',
      'getMetrics',
      'getNetworkVolume',
      'getNetworkVolumeBilling',
      'getNetworkVolumeBillingAlias',
      'getOwnLimits',
      'getPod',
      'getPodAccess',
      'getPodBilling',
      'getPodJupyter',
      'getPodLifetime',
      'getPodLogs',
      'getReadiness',
      'getRegistry',
      'getSchedule',
      'getSecret',
      'getServerlessBilling',
      'getSimulation',
      'getTemplate',
      'getUser',
      'getUserLimits',
      'getUserRateLimit',
      'getWorker',
      'getWorkerLogs',
      'listApiKeys',
      'listAudit',
      'listBudgets',
      'listClusterPods',
      'listClusters',
      'listCpuFlavors',
      'listDataCenters',
      'listDecisions',
      'listEndpointFigures',
      'listEndpointLogLines',
      'listEndpointReleases',
      'listEndpointWorkers',
      'listEndpoints',
      'listGpuTypes',
      'listJobs',
      'listNetworkVolumes',
      'listPodLogLines',
      'listPods',
      'listPublicTemplates',
      'listRegistries',
      'listRegistryDelegations',
      'listReleaseImages',
      'listSecrets',
      'listSshKeys',
      'listTemplates',
      'listTerminals',
      'listUserApiKeys',
      'listUsers',
      'planUserRemoval',
      'podAction',
      'replaceGpuRule',
      'replaceSchedule',
      'getWorkloadOptions',
      'replaceWorkloadOptions',
      'replaceSshKeys',
      'replaceUserRateLimit',
      'resumeUser',
      'rollbackRelease',
      'rotateApiKey',
      'setPodAccess',
      'setPodLifetime',
      'simulate',
      'suspendUser',
      'updateApiKey',
      'updateBudget',
      'updateCluster',
      'updateEndpoint',
      'updateInstallationLimits',
      'updateNetworkVolume',
      'updatePod',
      'updateSecret',
      'updateTemplate',
      'updateUser',
      'updateUserLimits',
      'watchAccount',
      'watchEndpoint',
      'watchPods',
    ].toSorted(),
  );
  const update = document.paths['/v2/serverless/{id}'].patch;
  expect(Object.keys(update.responses)).toEqual(
    expect.arrayContaining(['200', '400', '401', '403', '404', '422', '429']),
  );
  expect(document.components.schemas.UpdateEndpointRequest.additionalProperties).toBe(false);
});

test('alive and ready need no key; without the database it is alive but not ready', async () => {
  expect((await rest.call('GET', '/healthz')).json()).toEqual({ status: 'ok' });
  expect((await rest.call('GET', '/readyz')).json()).toEqual({ status: 'ready' });
  const other = await startRestApp();
  await other.database.pool.end();
  try {
    expect((await other.call('GET', '/healthz')).statusCode).toBe(200);
    const response = await other.call('GET', '/readyz');
    expect(response.statusCode).toBe(503);
    expect(response.json()).toEqual({
      title: 'Service Unavailable',
      status: 503,
      detail: 'The database is not reachable.',
    });
  } finally {
    await other.app.close();
    await other.bus.stop();
  }
});

test('an unforeseen error is a 500 that shows nothing of its text', async () => {
  await rest.database.pool.query('alter table releases rename to hidden_releases');
  const response = await rest.call('GET', `/v2/serverless/${id}/releases`, { key: rest.alice.key });
  await rest.database.pool.query('alter table hidden_releases rename to releases');
  expect(response.statusCode).toBe(500);
  expect(response.json()).toEqual({
    title: 'Internal Server Error',
    status: 500,
    detail: 'An unexpected error occurred.',
  });
});

test('the app works under an outer server', async () => {
  const headers = { authorization: `Bearer ${rest.alice.key}` };
  const response = await fetch(`${base}/v2/serverless/${id}`, { headers });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ id });
});

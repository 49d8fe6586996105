import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REST_REVISIONS, type RestRevision } from '../../src/core/rest-revisions.ts';
import { describedBy, type Operation } from '../check-answer.ts';
import { type Person, type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * docs/interface/revision-2026-08.md, "Choosing the revision" and "Serverless endpoints": the real answers of every
 * operation fit the description of their revision. `rest.call` checks each with Ajv, and throws for one that does not.
 */
let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  const gpu = { pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'EU-RO-1', total: 9, free: 9 };
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [gpu], cpus: 64, memoryBytes: 2 ** 38 }) } });
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());

const ENDPOINT = { name: 'e', image: 'i:1', gpu: { pools: ['ADA_24'] } };
/** Bodies that fit the records of this test; for the others, the description's examples do. */
const BODIES: Record<RestRevision, Record<string, object>> = {
  '2026-07': {
    createEndpoint: { ...ENDPOINT, type: 'QUEUE_BASED', scaling: { type: 'QUEUE_DELAY', value: 1, idleTimeout: 5 } },
    updateEndpoint: { image: 'i:2', scaling: { value: 2.5 } },
    createTeam: { name: 'vision' },
    updateTeam: { name: 'sight' },
  },
  '2026-08': {
    createEndpoint: { ...ENDPOINT, type: 'QUEUE', scaling: { type: 'QUEUE_DELAY', queueDelay: 1 } },
    updateEndpoint: { image: 'i:2', workers: { idleTimeout: 9 }, gpu: { minCudaVersion: '12.4' } },
    createTeam: { name: 'sound' },
    updateTeam: { name: 'hearing' },
  },
};
const CONTENT = 'FROM scratch';
const NO_RECIPE = {
  ...{ target: null, base: null, version: null, installer: null, lockFiles: [], systemPackages: [], secretIds: [] },
  ...{ buildCommand: null, entry: null },
};
const SHARED_BODIES: Record<string, object> = {
  createPod: { name: 'p', image: 'i', gpu: { id: 'NVIDIA GeForce RTX 4090' } },
  updatePod: { name: 'q' },
  podAction: { action: 'stop' },
  createTemplate: { name: 't', image: 'i' },
  updateTemplate: { name: 'u' },
  createNetworkVolume: { name: 'v', size: 10, dataCenter: 'EU-RO-1' },
  updateNetworkVolume: { name: 'w' },
  createApiKey: { name: 'k', scopes: ['all'] },
  createS3Key: { name: 'k', scopes: ['files:read'] },
  replaceGpuRule: { excludedGpuTypes: [], allowedCudaVersions: [], minCudaVersion: null },
  replaceGitSource: { url: 'https://git.example.com/me/app' },
  replaceEndpointModels: { models: [] },
  resolveModels: { models: [] },
  changeRollout: { action: 'pause' },
  simulate: { action: 'reset' },
  get addTeamMember() {
    return { userId: rest.alice.userId, role: 'DEVELOPER' };
  },
  createBuild: {
    name: 'b',
    files: [{ path: 'Dockerfile', digest: digestOf(CONTENT), size: CONTENT.length, mode: 0o644 }],
    recipe: { ...NO_RECIPE, language: 'dockerfile', dockerfile: 'Dockerfile' },
  },
};
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Answers that this test cannot bring about: nothing runs and no job is sent, and a simulation needs a simulating server. */
const REFUSED = [
  ...['getBuild', 'getPodJupyter', 'getSimulation', 'getWorker', 'simulate'],
  ...['createPodTerminal', 'createWorkerTerminal', 'endTerminal'],
  ...['getJob', 'getJobInput', 'getJobOutput', 'getJobError'],
  'replaceWorkloadOptions', // the operator permits none by default
  ...['createS3Key', 'deleteS3Key'], // the key has no scope of files
  ...['createInvitation', 'getInvitation', 'deleteInvitation'], // nor one to invite with
  'removeUserPassword', // nobody has one
  'renewEndpointLease', // the endpoint has none
  ...['fetchMachineModel', 'updateMachineModel', 'removeMachineModel'], // no machine stores any, and there is no hub
  ...['endSession', 'endUserSession'], // no browser is signed in
];
/** The order in which methods are called, so that records exist while they are needed. */
const ORDER = ['post', 'put', 'patch', 'get', 'delete'];

interface Call {
  path: string;
  method: string;
  operation: Operation;
}

/** Every operation that does not stream and belongs to the API, creations first. */
function listCalls(revision: RestRevision): Call[] {
  return Object.entries(describedBy(revision).paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
    )
    .filter(({ path, operation }) => {
      const { content } = operation.responses['200'] ?? {};
      return path.startsWith('/v2/') && !(content && 'text/event-stream' in content);
    })
    .toSorted((a, b) => rank(a) - rank(b));
}

/** Creations, then what acts on records, reads, and deletions, of the innermost records first. */
function rank({ path, method }: Call): number {
  if (path.endsWith('/git-source/sync')) return 150; // of the source that a put made
  const isCreation = method === 'post' && !path.includes('{');
  if (path.includes('{releaseId}')) return 250; // needs a release that an update made
  if (path === '/v2/builds/files/{digest}') return -2; // the build is of this file
  return isCreation ? -1 : ORDER.indexOf(method) * 100 - (method === 'delete' ? path.length : 0);
}

/** Calls every operation once; returns the status of each by its id. */
async function callAll(revision: RestRevision): Promise<Map<string, number>> {
  const ids = new Map([
    ['/v2/catalog/gpus', encodeURIComponent('NVIDIA GeForce RTX 4090')],
    ['/v2/catalog/cpus', 'cpu3c'],
    ['/v2/catalog/datacenters', 'EU-RO-1'],
    ['/v2/account/users', admin.userId],
    ['/v2/builds/files', digestOf(CONTENT)],
  ]);
  const statuses = new Map<string, number>();
  for (const { path, method, operation } of listCalls(revision)) {
    const [collection = '', ...parts] = path.split(/\/\{\w+\}/);
    const second = parts.length > 1 ? (ids.get(`${collection}${parts[0]}`) ?? 'nosuch') : '';
    const [first, inner = ''] = parts;
    const url =
      first === undefined
        ? path
        : `${collection}/${ids.get(collection) ?? 'nosuch'}${first}${second && `/${second}${inner}`}`;
    const body = bodyOf(revision, operation);
    const response = await rest.call(method.toUpperCase(), `/${revision}${url}`, {
      key: admin.key,
      ...(body && { body }),
      ...(typeof body === 'string' && { headers: { 'content-type': 'application/octet-stream' } }),
    });
    statuses.set(operation.operationId, response.statusCode);
    if (response.statusCode === 201) {
      const { id, userId } = response.json();
      ids.set(path.replace(/\/\{\w+\}/g, ''), id ?? userId);
    }
    if (operation.operationId === 'updateEndpoint') {
      const { releases } = (await rest.call('GET', `/${revision}${url}/releases`, { key: admin.key })).json();
      ids.set('/v2/serverless/releases', releases.at(-1).id);
    }
  }
  return statuses;
}

function bodyOf(revision: RestRevision, { operationId, requestBody }: Operation): object | string | undefined {
  if (!requestBody) return undefined;
  if (operationId === 'createUser') return { name: `user-of-${revision}` };
  const own = BODIES[revision][operationId] ?? SHARED_BODIES[operationId];
  if (operationId === 'storeBuildFiles')
    return `${JSON.stringify([{ digest: digestOf(CONTENT), size: CONTENT.length }])}\n${CONTENT}`;
  if (!requestBody.content['application/json']) return CONTENT;
  const { $ref } = requestBody.content['application/json'].schema as { $ref: string };
  const schema = describedBy(revision).components.schemas[$ref.split('/').at(-1)!] as { examples: object[] };
  return own ?? schema.examples[0];
}

describe.each(REST_REVISIONS)('revision %s', (revision) => {
  test('the answer of every operation fits the description, and all but a few succeed', async () => {
    const statuses = await callAll(revision);
    expect(statuses.size).toBeGreaterThan(60);
    const refused = [...statuses].filter(([name, status]) => status >= 300 && !REFUSED.includes(name));
    expect(refused).toEqual([]);
  });
});

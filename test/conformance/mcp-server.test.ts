/**
 * docs/interface/revision-2026-08.md, "Clients": the public MCP server, `@runpod/mcp-server`, in its two newest generations, unchanged and
 * over stdio. Each of its tools is called once, and does here what it says.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { McpServer } from '../mcp-server.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

const KEY = 'pyk_test-admin';
const IMAGE = 'podyard/echo-js:dev';
/** The log of a pod whose image is there already has no lines. */
const OTHER_IMAGE = 'podyard/echo-js:v2';
const GPU = 'NVIDIA GeForce RTX 4090';
const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILXGDN/SclOozk1xsDztpmhGiKkkrfQB9SKoO8dSIQQZ me@example.com';
const REPOSITORY = 'arn:aws:ecr:us-east-2:418399314813:repository/me/app';

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 5_000 }, false, {}, 'ADA_24:1000,AMPERE_80:100');
});
afterAll(() => plane.close());

// biome-ignore lint/suspicious/noExplicitAny: any JSON that a tool returns
type Body = any;

/** A running MCP server whose calls must succeed, and which knows the tools that were called. */
class Caller {
  readonly #server: McpServer;
  readonly #called = new Set<string>();

  constructor(server: McpServer) {
    this.#server = server;
  }

  async use(tool: string, args: object = {}): Promise<Body> {
    this.#called.add(tool);
    const { isError, text, body } = await this.#server.call(tool, args);
    if (isError || body?.error !== undefined) throw new Error(`${tool} ${JSON.stringify(args)}: ${text}`);
    return body;
  }

  /** Calls a tool that fails; returns what it says. */
  async fail(tool: string, args: object): Promise<string> {
    this.#called.add(tool);
    const { isError, text, body } = await this.#server.call(tool, args);
    if (!isError && body?.error === undefined) throw new Error(`${tool} did not fail: ${text}`);
    return text;
  }

  get untried(): string[] {
    return this.#server.tools.filter((tool) => !this.#called.has(tool));
  }
}

/** Runs `use` with a server as docs/guide/existing-clients.md sets it up. */
async function withServer(packageName: string, use: (mcp: Caller) => Promise<void>): Promise<void> {
  const server = await McpServer.start(packageName, {
    RUNPOD_API_KEY: KEY,
    RUNPOD_API_BASE_URL: `${plane.url}/2026-08`,
    RUNPOD_REST_V2_API_URL: `${plane.url}/2026-08/v2`,
    RUNPOD_SERVERLESS_API_URL: `${plane.url}/v2`,
    RUNPOD_AUTHED_GRAPHQL_URL: `${plane.url}/graphql`,
    RUNPOD_PUBLIC_GRAPHQL_URL: `${plane.url}/graphql?api_key=${await plane.keyFor(plane.userId, 'catalog:read')}`,
  });
  try {
    const mcp = new Caller(server);
    await use(mcp);
    expect(mcp.untried).toEqual([]);
  } finally {
    server.close();
  }
}

/** The tools for jobs, which both generations have alike. Expects an endpoint with one worker. */
async function useJobs(mcp: Caller, endpointId: EndpointId): Promise<void> {
  const worker = await plane.worker(endpointId);
  const running = mcp.use('runsync-endpoint', { endpointId, input: { a: 1 }, wait: 5000 });
  await worker.work('{"output":{"b":2}}');
  expect(await running).toMatchObject({ status: 'COMPLETED', output: { b: 2 } });
  const { id: jobId } = await mcp.use('run-endpoint', { endpointId, input: { a: 1 } });
  await worker.take();
  await worker.chunk(jobId, '{"output":"chunk"}');
  expect(await mcp.use('get-job-status', { endpointId, jobId })).toMatchObject({ status: 'IN_PROGRESS' });
  await worker.done(jobId, '{"error":"broken"}', true);
  expect(JSON.stringify(await mcp.use('stream-job', { endpointId, jobId }))).toContain('chunk');
  expect(await mcp.use('endpoint-health', { endpointId })).toMatchObject({ jobs: { completed: 1, failed: 1 } });
  expect(await mcp.use('retry-job', { endpointId, jobId })).toMatchObject({ status: 'IN_QUEUE' });
  expect(await mcp.use('cancel-job', { endpointId, jobId })).toMatchObject({ status: 'CANCELLED' });
  await mcp.use('run-endpoint', { endpointId, input: {} });
  expect(await mcp.use('purge-endpoint-queue', { endpointId })).toMatchObject({ removed: 1 });
}

/** There is no hub here, and there are no endpoints of the operator: both lists are empty. */
async function useHub(mcp: Caller): Promise<void> {
  expect((await mcp.use('list-hub-repos')).items).toEqual([]);
  expect((await mcp.use('list-public-endpoints')).items).toEqual([]);
  expect(await mcp.fail('deploy-hub-repo', { repo: 'me/app' })).toContain('No Hub listing');
}

/** Waits until a pod can be restarted. */
const runs = (mcp: Caller, args: object) =>
  until(
    () => mcp.use('get-pod', args),
    (pod) => pod.actions.includes('restart'),
  );

const ofName = (name: string) => expect.arrayContaining([expect.objectContaining({ name })]);

test('each tool of version 4 works', () =>
  withServer('@runpod/mcp-server', async (mcp) => {
    await useCatalog(mcp);
    await useHub(mcp);
    await useAccount(mcp);
    await useTemplates(mcp);
    await usePods(mcp);
    await useEndpoints(mcp);
    await useClusters(mcp);
    for (const of of ['', 'cluster-', 'endpoint-', 'network-volume-', 'pod-', 'serverless-']) {
      expect(await mcp.use(`list-${of}billing`, { bucketSize: 'day' })).toMatchObject({ records: expect.any(Array) });
    }
  }));

async function useCatalog(mcp: Caller): Promise<void> {
  const { gpus } = await mcp.use('list-gpu-types', { include: 'AVAILABILITY', product: 'POD' });
  expect(gpus).toContainEqual(expect.objectContaining({ id: GPU, availability: 'HIGH' }));
  expect(await mcp.use('get-gpu-type', { id: GPU })).toMatchObject({ pool: 'ADA_24' });
  expect((await mcp.use('list-cpu-types')).cpus).toContainEqual(expect.objectContaining({ id: 'cpu3c' }));
  expect(await mcp.use('get-cpu-type', { id: 'cpu3c' })).toMatchObject({ id: 'cpu3c' });
  expect((await mcp.use('list-data-centers')).dataCenters).toContainEqual(expect.objectContaining({ id: 'LOCAL-1' }));
  expect(await mcp.use('get-data-center', { id: 'LOCAL-1' })).toMatchObject({ id: 'LOCAL-1' });
  expect((await mcp.use('get-capacity')).items).toContainEqual(
    expect.objectContaining({ id: GPU, stockStatus: 'High' }),
  );
}

async function useAccount(mcp: Caller): Promise<void> {
  expect(await mcp.use('update-ssh-keys', { body: { keys: [SSH_KEY] } })).toEqual({ keys: [SSH_KEY] });
  expect(await mcp.use('get-ssh-keys')).toEqual({ keys: [SSH_KEY] });
  const { id } = await mcp.use('create-registry', { body: { name: 'r4', username: 'u', password: 'p' } });
  expect((await mcp.use('list-registries')).registries).toEqual(ofName('r4'));
  expect(await mcp.use('get-registry', { id })).toMatchObject({ name: 'r4' });
  await mcp.use('delete-registry', { id });
  const delegation = await mcp.use('create-delegation', { body: { resource: REPOSITORY, name: 'd4' } });
  expect((await mcp.use('list-delegations')).delegations).toEqual(ofName('d4'));
  await mcp.use('revoke-delegation', { id: delegation.id });
  const body = { name: 'v4', size: 10, dataCenter: 'LOCAL-1' };
  const volume = await mcp.use('create-network-volume', { body });
  expect((await mcp.use('list-network-volumes')).networkVolumes).toEqual(ofName('v4'));
  expect(await mcp.use('get-network-volume', { id: volume.id })).toMatchObject(body);
  const renamed = await mcp.use('update-network-volume', { id: volume.id, body: { name: 'v4b' } });
  expect(renamed).toMatchObject({ name: 'v4b' });
  await mcp.use('delete-network-volume', { id: volume.id });
}

async function useTemplates(mcp: Caller): Promise<void> {
  const { id } = await mcp.use('create-template', { body: { name: 't4', image: IMAGE, startSsh: false } });
  expect((await mcp.use('list-templates')).templates).toEqual(ofName('t4'));
  expect(await mcp.use('get-template', { id })).toMatchObject({ startSsh: false, startJupyter: true });
  const changed = await mcp.use('update-template', { id, body: { disk: 30, public: true } });
  expect(changed).toMatchObject({ disk: 30, public: true });
  expect(await mcp.use('list-public-templates', { source: 'community' })).toMatchObject({ templates: ofName('t4') });
  await mcp.use('delete-template', { id });
}

async function usePods(mcp: Caller): Promise<void> {
  const body = { name: 'p4', image: IMAGE, gpu: { id: GPU, count: 1 }, ports: ['22/tcp'], startSsh: true };
  const { id } = await mcp.use('create-pod', { body });
  expect(await mcp.use('get-pod', { id })).toMatchObject({ name: 'p4', cudaVersion: null });
  expect((await mcp.use('list-pods')).pods).toEqual(ofName('p4'));
  expect(await mcp.use('update-pod', { id, body: { name: 'p4b' } })).toMatchObject({ name: 'p4b' });
  await runs(mcp, { id });
  expect((await mcp.use('stream-pod-logs', { podId: id, maxWaitMs: 500 })).items.length).toBeGreaterThan(0);
  expect(await mcp.use('pod-action', { id, body: { action: 'stop' } })).toMatchObject({
    actions: ['start', 'terminate'],
  });
  await mcp.use('delete-pod', { id });
}

async function useEndpoints(mcp: Caller): Promise<void> {
  const { id } = await mcp.use('create-endpoint', {
    body: {
      ...{ name: 'e4', image: IMAGE, type: 'QUEUE', gpu: { pools: ['ADA_24'] }, workers: { min: 1, max: 1 } },
      scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    },
  });
  expect((await mcp.use('list-endpoints')).items).toEqual(ofName('e4'));
  expect(await mcp.use('get-endpoint', { id })).toMatchObject({ type: 'QUEUE', workers: { min: 1, max: 1 } });
  await useJobs(mcp, id);
  const { workers } = await mcp.use('list-endpoint-workers', { id });
  expect(workers).toHaveLength(1);
  const logs = await mcp.use('stream-worker-logs', { endpointId: id, workerId: workers[0].id, maxWaitMs: 500 });
  expect(logs).toMatchObject({ items: expect.any(Array) });
  const scaling = { type: 'REQUEST_COUNT', requestCount: 2 };
  expect(await mcp.use('update-endpoint', { id, body: { name: 'e4b', scaling } })).toMatchObject({
    name: 'e4b',
    scaling,
  });
  expect(await mcp.use('set-endpoint-gpus', { endpointId: id, pools: ['AMPERE_80'] })).toMatchObject({
    endpoint: { id, gpuIds: 'AMPERE_80' },
  });
  expect((await mcp.use('list-endpoint-releases', { id })).releases).toHaveLength(2);
  expect(await mcp.use('list-endpoint-builds', { id })).toEqual({ builds: [] });
  expect(await mcp.fail('get-endpoint-build', { id, buildId: 'none' })).toContain('404');
  await mcp.use('delete-endpoint', { id });
}

async function useClusters(mcp: Caller): Promise<void> {
  const compute = { gpuTypeId: GPU, gpuCountPerPod: 1, podCount: 2 };
  const { id } = await mcp.use('create-cluster', { body: { name: 'c4', image: IMAGE, type: 'APPLICATION', compute } });
  expect((await mcp.use('list-clusters')).clusters).toEqual(ofName('c4'));
  expect(await mcp.use('get-cluster', { id })).toMatchObject({ compute, pods: { total: 2 } });
  expect((await mcp.use('list-cluster-pods', { id })).pods).toHaveLength(2);
  expect(await mcp.use('update-cluster', { id, body: { name: 'c4b' } })).toMatchObject({ name: 'c4b' });
  await mcp.use('delete-cluster', { id });
}

test('each tool of version 3.4 works', () =>
  withServer('runpod-mcp-server-3', async (mcp) => {
    await useCatalog3(mcp);
    await useHub(mcp);
    await useAccount3(mcp);
    await usePods3(mcp);
    await useEndpoints3(mcp);
    expect(await mcp.use('get-billing', { scope: 'pods' })).toMatchObject({ metadata: expect.any(Object) });
  }));

async function useCatalog3(mcp: Caller): Promise<void> {
  expect((await mcp.use('list-gpu-types')).items).toContainEqual(
    expect.objectContaining({ id: GPU, availability: 'HIGH' }),
  );
  expect(await mcp.use('get-gpu-type', { gpuTypeId: GPU })).toMatchObject({ pool: 'ADA_24' });
  expect((await mcp.use('list-cpu-types')).items).toContainEqual(expect.objectContaining({ id: 'cpu3c' }));
  expect(await mcp.use('get-cpu-type', { cpuTypeId: 'cpu3c' })).toMatchObject({ id: 'cpu3c' });
  expect((await mcp.use('list-data-centers')).items).toContainEqual(expect.objectContaining({ id: 'LOCAL-1' }));
  expect(await mcp.use('get-data-center', { dataCenterId: 'LOCAL-1' })).toMatchObject({ id: 'LOCAL-1' });
  const capacity = await mcp.use('get-capacity', { cudaVersions: ['12.8'] });
  expect(capacity).not.toHaveProperty('probeErrors');
}

async function useAccount3(mcp: Caller): Promise<void> {
  const auth = await mcp.use('create-container-registry-auth', { name: 'r3', username: 'u', password: 'p' });
  expect((await mcp.use('list-container-registry-auths')).items).toEqual(ofName('r3'));
  const containerRegistryAuthId = auth.id;
  expect(await mcp.use('get-container-registry-auth', { containerRegistryAuthId })).toMatchObject({ name: 'r3' });
  await mcp.use('delete-container-registry-auth', { containerRegistryAuthId });
  const delegation = await mcp.use('create-registry-delegation', { resource: REPOSITORY, name: 'd3' });
  expect((await mcp.use('list-registry-delegations')).items).toEqual(ofName('d3'));
  await mcp.use('delete-registry-delegation', { delegationId: delegation.id });
  const volume = await mcp.use('create-network-volume', { name: 'v3', size: 10, dataCenterId: 'LOCAL-1' });
  expect((await mcp.use('list-network-volumes')).items).toEqual(ofName('v3'));
  const networkVolumeId = volume.id;
  expect(await mcp.use('get-network-volume', { networkVolumeId })).toMatchObject({ size: 10 });
  expect(await mcp.use('update-network-volume', { networkVolumeId, name: 'v3b' })).toMatchObject({ name: 'v3b' });
  await mcp.use('delete-network-volume', { networkVolumeId });
  const template = await mcp.use('create-template', { name: 't3', imageName: IMAGE, volumeInGb: 0 });
  expect((await mcp.use('list-templates')).items).toEqual(ofName('t3'));
  const templateId = template.id;
  expect(await mcp.use('get-template', { templateId })).toMatchObject({ name: 't3' });
  expect(await mcp.use('update-template', { templateId, name: 't3b' })).toMatchObject({ name: 't3b' });
  await mcp.use('delete-template', { templateId });
}

async function usePods3(mcp: Caller): Promise<void> {
  const { id: podId } = await mcp.use('create-pod', {
    name: 'p3',
    imageName: OTHER_IMAGE,
    gpuTypeIds: [GPU],
    gpuCount: 1,
  });
  expect((await mcp.use('list-pods')).items).toEqual(ofName('p3'));
  expect(await mcp.use('update-pod', { podId, name: 'p3b' })).toMatchObject({ name: 'p3b' });
  await runs(mcp, { podId });
  expect((await mcp.use('stream-pod-logs', { podId, maxWaitMs: 500 })).items.length).toBeGreaterThan(0);
  await mcp.use('restart-pod', { podId });
  await mcp.use('stop-pod', { podId });
  await mcp.use('start-pod', { podId });
  await mcp.use('delete-pod', { podId });
}

async function useEndpoints3(mcp: Caller): Promise<void> {
  const { id: endpointId } = await mcp.use('create-endpoint', {
    ...{ name: 'e3', imageName: IMAGE, gpuPoolIds: ['ADA_24'], workersMin: 1, workersMax: 1 },
    ...{ scalerType: 'QUEUE_DELAY', scalerValue: 4, idleTimeout: 10 },
  });
  expect((await mcp.use('list-endpoints')).items).toEqual(ofName('e3'));
  expect(await mcp.use('get-endpoint', { endpointId })).toMatchObject({ workers: { min: 1, max: 1 } });
  await useJobs(mcp, endpointId);
  const { items: workers } = await mcp.use('list-endpoint-workers', { endpointId });
  expect(workers).toHaveLength(1);
  await mcp.use('stream-worker-logs', { endpointId, workerId: workers[0].id, maxWaitMs: 500 });
  expect(await mcp.use('update-endpoint', { endpointId, name: 'e3b', idleTimeout: 20 })).toMatchObject({ name: 'e3b' });
  const chosen = await mcp.use('set-endpoint-gpus', { endpointId, pools: ['AMPERE_80'] });
  expect(chosen).toMatchObject({ endpoint: { gpuIds: 'AMPERE_80' } });
  expect((await mcp.use('list-endpoint-releases', { endpointId })).items).toHaveLength(2);
  await mcp.use('delete-endpoint', { endpointId });
}

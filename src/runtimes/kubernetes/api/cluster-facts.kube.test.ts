import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Cluster, describeOnCluster } from '../../../../test/kubernetes/cluster.ts';
import { needImages } from '../../../../test/kubernetes/images.ts';
import { NODE_PROGRAMS } from '../../../../test/runtime-contract/probes.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { NoCapacity, type Runtime, type WorkloadSpec, type WorkloadStorage } from '../../runtime.ts';
import { createKubernetesRuntime } from '../kubernetes-runtime.ts';

const PRODUCT = 'NVIDIA-A100-SXM4-80GB';
const POOL = 'AMPERE_80';
const IMAGE = 'podyard/echo-js:dev';

let cluster: Cluster;
let namespace: string;
let runtime: Runtime & { readonly storage: WorkloadStorage };
let open: (env?: Record<string, string>, installation?: string) => typeof runtime;
const opened: Runtime[] = [];

async function setUp() {
  cluster = await Cluster.use();
  await needImages(cluster, IMAGE);
  namespace = await cluster.namespace();
  const own = newId<string>();
  const { resource, label, selector } = await cluster.equip(2, PRODUCT);
  open = (env = {}, installation = own) => {
    const settings = readKubernetesSettings({
      PODYARD_KUBECONFIG: cluster.kubeconfig,
      PODYARD_KUBERNETES_NAMESPACE: namespace,
      PODYARD_KUBERNETES_GPU_RESOURCE: resource,
      PODYARD_KUBERNETES_GPU_LABEL: label,
      PODYARD_KUBERNETES_NODE_SELECTOR: selector,
      PODYARD_KUBERNETES_PENDING_SECONDS: '1',
      ...env,
    });
    const one = createKubernetesRuntime({ settings, installation, logger: silentLogger });
    opened.push(one);
    return one;
  };
  runtime = open();
}

async function tearDown() {
  for (const one of opened.splice(0)) await one.close();
  await cluster.dispose();
}

const spec = (more: Partial<WorkloadSpec> = {}) => workloadSpec({ image: IMAGE, args: NODE_PROGRAMS.idle, ...more });
const path = (resource: string, name: string) => `/api/v1/namespaces/${namespace}/${resource}/${name}`;
const stopAll = async () => {
  await Promise.all((await runtime.list()).map(({ id }) => runtime.stop(id, 0)));
};

describeOnCluster('workloads on a real cluster', () => {
  beforeAll(setUp, 300_000);
  afterEach(stopAll, 60_000);
  afterAll(tearDown, 120_000);

  test('a start reports progress until the container runs', async () => {
    const lines: string[] = [];
    await runtime.start(spec(), { onProgress: (line) => lines.push(line) });
    expect(lines[0]).toBe('Pod created');
    expect(lines.join('\n')).toMatch(/Assigned to node \S+\n/);
    expect(lines.join('\n')).toContain(`Container image ${IMAGE} already present`);
    expect(new Set(lines).size).toBe(lines.length);
  });

  test('the environment is in a Secret deleted with the pod, not in the pod’s manifest', async () => {
    const wanted = spec({ env: { TOKEN: 'hunter2', 'a.b-c': '$(TOKEN)' } });
    await runtime.start(wanted);
    const name = `podyard-${wanted.id}`;
    const pod = await cluster.client.get(path('pods', name));
    const secret = await cluster.client.get(path('secrets', name));
    expect(JSON.stringify(pod)).not.toContain('hunter2');
    expect(secret.data).toEqual({ TOKEN: btoa('hunter2'), 'a.b-c': btoa('$(TOKEN)') });
    expect(secret.metadata.ownerReferences).toMatchObject([{ kind: 'Pod', uid: pod.metadata.uid }]);
    const [container] = pod.spec.containers;
    expect(container.volumeMounts.map((mount: { mountPath: string }) => mount.mountPath)).toEqual(['/dev/shm']);
    expect(container.securityContext.allowPrivilegeEscalation).toBe(false);
    await runtime.stop(wanted.id, 0);
    await expect.poll(() => cluster.client.find(path('secrets', name)), { timeout: 30_000 }).toBeUndefined();
  });

  test('a workload that fits no node fails with the scheduler’s words and leaves nothing behind', async () => {
    const start = runtime.start(spec({ cpus: 4096, memoryBytes: 2 ** 30 }));
    await expect(start).rejects.toThrow(NoCapacity);
    await expect(start).rejects.toThrow(/No node fits: .*Insufficient cpu/);
    expect(await runtime.list()).toEqual([]);
  });

  test('a stop cancels a waiting start', async () => {
    const patient = open({ PODYARD_KUBERNETES_PENDING_SECONDS: '600' });
    const wanted = spec({ cpus: 4096 });
    const start = patient.start(wanted);
    start.catch(() => {});
    await expect.poll(async () => (await patient.list()).map(({ id }) => id)).toEqual([wanted.id]);
    await patient.stop(wanted.id, 30_000);
    await expect(start).rejects.toMatchObject({ kind: expect.stringMatching(/conflict|unavailable/) });
    expect(await patient.list()).toEqual([]);
  });

  test('a workload that exceeds its memory limit ends with that reason', async () => {
    const code = "const all = []; for (;;) all.push(Buffer.alloc(1e7, 'x'));";
    const args = JSON.stringify({ entrypoint: ['node', '-e', code] });
    const wanted = spec({ args, memoryBytes: 64 * 2 ** 20, cpus: 1 });
    await runtime.start(wanted);
    const seen = async () => (await runtime.list()).find(({ id }) => id === wanted.id);
    await expect.poll(async () => (await seen())?.state, { timeout: 30_000 }).toBe('exited');
    expect(await seen()).toMatchObject({
      exitCode: 137,
      reason: 'Out of memory (limit 64 MiB)',
    });
  });

  test('a variable name that the cluster does not support is refused', async () => {
    await expect(runtime.start(spec({ env: { '1st': 'x' } }))).rejects.toThrow("'1st' is not a valid variable name");
    expect(await runtime.list()).toEqual([]);
  });

  test('a registry’s credentials are in one Secret, updated when they change', async () => {
    const id = newId<string>();
    const auth = { username: 'ada', password: 'first' };
    const registry = { id, auth };
    const name = `podyard-registry-${id}`;
    const read = async () => {
      const { data, type } = await cluster.client.get(path('secrets', name));
      return { type, ...JSON.parse(atob(data['.dockerconfigjson'])) };
    };
    const wanted = spec({ registry });
    await runtime.start(wanted);
    const { type, auths } = await read();
    expect(type).toBe('kubernetes.io/dockerconfigjson');
    expect(auths['https://index.docker.io/v1/']).toEqual({ ...auth, auth: btoa('ada:first') });
    const pod = await cluster.client.get(path('pods', `podyard-${wanted.id}`));
    expect(pod.spec.imagePullSecrets).toEqual([{ name }]);
    await runtime.start(spec({ registry: { id, auth: { username: 'ada', password: 'second' } } }));
    expect((await read()).auths['https://index.docker.io/v1/'].password).toBe('second');
  });

  test('a TCP port of a pod is published on the requested port, or the start fails because it is taken', async () => {
    const port = 30_000 + Math.floor(Math.random() * 2_700);
    const args = NODE_PROGRAMS.serve;
    const more = { kind: 'pod', args, env: { LISTEN: '22' }, ports: ['22/tcp'], publicPorts: { 22: port } } as const;
    const wanted = spec(more);
    const { publishedPorts } = await runtime.start(wanted);
    expect(publishedPorts).toEqual([{ private: 22, public: port, type: 'tcp', ip: expect.stringMatching(/^\d/) }]);
    await expect.poll(() => isOpen(publishedPorts[0]!.ip!, port)).toBe(true);
    await expect(runtime.start(spec(more))).rejects.toThrow(/already allocated/);
    expect((await runtime.list()).map(({ id }) => id)).toEqual([wanted.id]);
    expect((await open().list())[0]).toMatchObject({ publishedPorts });
  });

  test('storage is a claim: created once, enlarged and removed', async () => {
    const owner = { kind: 'volume', dataCenterId: 'LOCAL-1', id: newId<string>() } as const;
    const wish = { sizeGb: 1, type: 'STANDARD' } as const;
    const name = await runtime.storage.ensure(owner, wish);
    expect(await runtime.storage.ensure(owner, wish)).toBe(name);
    const claim = await cluster.client.get(path('persistentvolumeclaims', name));
    expect(claim.spec).toMatchObject({ accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } });
    await expect(runtime.storage.ensure(owner, { ...wish, sizeGb: 2 })).rejects.toThrow('could not be enlarged');
    expect(await runtime.storage.usedBytes(owner)).toBeNull();
    await runtime.storage.remove(owner);
    await runtime.storage.remove(owner);
    await expect.poll(() => cluster.client.find(path('persistentvolumeclaims', name))).toBeUndefined();
  });

  test('GPUs of foreign pods do not count', async () => {
    const total = async () => (await runtime.capacity()).gpus.map(({ pool, total, free }) => ({ pool, total, free }));
    expect(await total()).toEqual([{ pool: POOL, total: 2, free: 2 }]);
    const stranger = open({}, newId());
    const wanted = spec({ gpu: { pool: POOL, count: 1 } });
    await stranger.start(wanted);
    await expect.poll(total).toEqual([{ pool: POOL, total: 1, free: 1 }]);
    await runtime.start(spec({ gpu: { pool: POOL, count: 1 } }));
    await expect.poll(total).toEqual([{ pool: POOL, total: 1, free: 0 }]);
    await stranger.stop(wanted.id, 0);
    await expect.poll(total).toEqual([{ pool: POOL, total: 2, free: 1 }]);
  });
});

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => socket.end(() => resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

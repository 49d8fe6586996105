import { afterEach, expect, test } from 'vitest';
import { send, startFakeCluster } from '../../../../test/fake-api-server.ts';
import { ANNOTATIONS, CONTAINER } from './pod-record.ts';

let cluster: Awaited<ReturnType<typeof startFakeCluster>>;

afterEach(() => cluster.close());

/** A cluster that accepts patches; `resizes` are the requested CPUs. */
async function begin(canResize: boolean, onResize: (cpu: string) => void = () => {}) {
  const resizes: string[] = [];
  const requested: string[] = [];
  cluster = await startFakeCluster((url, response, method) => {
    if (url.pathname === '/api/v1') {
      send(response, { resources: canResize ? [{ name: 'pods' }, { name: 'pods/resize' }] : [{ name: 'pods' }] });
      return true;
    }
    if (method !== 'PATCH') return false;
    let text = '';
    response.req.on('data', (chunk) => (text += chunk));
    response.req.on('end', () => {
      const body = JSON.parse(text);
      if (url.pathname.endsWith('/resize')) {
        const { limits, requests } = body.spec.containers[0].resources;
        const { cpu } = limits;
        requested.push(requests.cpu);
        cluster.pod.spec.containers[0] = { name: CONTAINER, resources: { limits, requests } };
        resizes.push(cpu);
        onResize(cpu);
      } else {
        const { [ANNOTATIONS.parked]: parked } = body.metadata.annotations;
        if (parked === null) delete cluster.pod.metadata.annotations![ANNOTATIONS.parked];
        else cluster.pod.metadata.annotations![ANNOTATIONS.parked] = parked;
      }
      send(response, cluster.change(undefined));
    });
    return true;
  });
  return { resizes, requested, state: async () => (await cluster.runtime.list())[0]?.state };
}

const granted = (cpu: string) => {
  const [{ state } = {}] = cluster.pod.status!.containerStatuses!;
  cluster.change({
    ...cluster.pod.status,
    containerStatuses: [{ name: CONTAINER, ...(state && { state }), resources: { limits: { cpu } } }],
  });
};

test('where the cluster can resize pods, a parked one gives up its CPU and gets it back', async () => {
  const { resizes, state } = await begin(true, granted);
  await cluster.runtime.freeze('w1');
  await cluster.runtime.freeze('w1');
  expect([await state(), resizes]).toEqual(['frozen', ['50m']]);
  await cluster.runtime.thaw('w1');
  await cluster.runtime.thaw('w1');
  expect([await state(), resizes]).toEqual(['running', ['50m', '2000m']]);
  expect(cluster.fake.requests.filter((line) => line === 'GET /api/v1')).toHaveLength(1);
});

test.each([
  ['5000m', ['42m', '5040m']],
  ['0', ['0m', '0m']],
])('a request of %s out of a limit of 6 CPUs keeps its share', async (cpu, expected) => {
  const { requested } = await begin(true, granted);
  cluster.pod.metadata.annotations![ANNOTATIONS.cpus] = '6';
  cluster.pod.spec.containers = [{ name: CONTAINER, resources: { limits: { cpu: '6' }, requests: { cpu } } }];
  cluster.change(undefined);
  await cluster.runtime.freeze('w1');
  await cluster.runtime.thaw('w1');
  expect(requested).toEqual(expected);
});

test('where it cannot, a parked pod is only marked', async () => {
  const { resizes, state } = await begin(false);
  await cluster.runtime.freeze('w1');
  expect(await state()).toBe('frozen');
  await cluster.runtime.thaw('w1');
  expect([await state(), resizes]).toEqual(['running', []]);
});

test('a thaw is refused when the node has no CPU left, and the workload stays parked', async () => {
  const { state } = await begin(true, (cpu) => {
    if (cpu !== '2000m') return granted(cpu);
    const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' } as const];
    cluster.change({ ...cluster.pod.status, conditions });
  });
  await cluster.runtime.freeze('w1');
  await expect(cluster.runtime.thaw('w1')).rejects.toThrow('The node has no 2 CPUs left (Deferred)');
  expect(await state()).toBe('frozen');
});

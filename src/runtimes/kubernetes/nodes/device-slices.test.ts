import { afterEach, expect, test } from 'vitest';
import { FakeApiServer, fakeObject, openWatch, send, sendList } from '../../../../test/fake-api-server.ts';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { ApiObject } from '../api/objects.ts';
import { countDevices, DeviceSlices, readDevices, toClassRecord, toSliceRecord, withDevices } from './device-slices.ts';
import { toNodeRecord } from './nodes.ts';

const RESOURCE = 'nvidia.com/gpu';
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** As NVIDIA's DRA driver lists a node's devices (resource.k8s.io/v1, shortened). */
function slice(node: string, types: string[], more: { generation?: number; name?: string; tainted?: number } = {}) {
  const devices = types.map((type, i) => ({
    name: `${type}-${i}`,
    attributes: { type: { string: type }, productName: { string: 'NVIDIA L4' }, uuid: { string: `GPU-${node}-${i}` } },
    capacity: { memory: { value: '23034Mi' } },
    ...(i < (more.tainted ?? 0) && { taints: [{ key: 'gpu.nvidia.com/xid', effect: 'NoExecute' }] }),
  }));
  const pool = { name: node, generation: more.generation ?? 1, resourceSliceCount: 1 };
  const spec = { driver: 'gpu.nvidia.com', nodeName: node, pool, devices };
  return { ...fakeObject(more.name ?? node, 1), spec } as ApiObject;
}

/** A DeviceClass that stands for an extended resource (1.34 and later). */
function deviceClass(name: string, expression: string, extendedResourceName?: string) {
  return { ...fakeObject(name, 1), spec: { selectors: [{ cel: { expression } }], extendedResourceName } } as ApiObject;
}

const WHOLE = deviceClass(
  'gpu.nvidia.com',
  "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
  RESOURCE,
);
const SLICED = deviceClass(
  'mig.nvidia.com',
  "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'",
);

const count = (slices: ApiObject[], classes: ApiObject[]) =>
  Object.fromEntries(countDevices(slices.map(toSliceRecord), classes.map(toClassRecord), RESOURCE));

test('the devices that a class gives the resource’s name are counted by node; others of the driver are not', () => {
  const slices = [slice('a', ['gpu', 'gpu']), slice('b', ['gpu', 'mig', 'mig'])];
  expect(count(slices, [WHOLE, SLICED])).toEqual({ a: 2, b: 1 });
});

test('without a class of that name nothing is counted: pods could not request it', () => {
  expect(count([slice('a', ['gpu'])], [SLICED])).toEqual({});
});

test('a driver that updates a pool counts once, and a tainted device not at all', () => {
  const old = slice('a', ['gpu', 'gpu'], { generation: 1, name: 'old' });
  const now = slice('a', ['gpu', 'gpu', 'gpu'], { generation: 2, name: 'now', tainted: 1 });
  expect(count([old, now], [WHOLE])).toEqual({ a: 2 });
});

test('another driver’s devices do not count, nor those that belong to no single node', () => {
  const other = slice('a', ['gpu']);
  (other as unknown as { spec: { driver: string } }).spec.driver = 'gpu.example.com';
  const shared = slice('b', ['gpu']);
  delete (shared as unknown as { spec: { nodeName?: string } }).spec.nodeName;
  expect(count([other, shared], [WHOLE])).toEqual({});
});

test('what a device plugin offers on a node wins', () => {
  const node = (name: string, gpus: string) =>
    toNodeRecord(
      { ...fakeObject(name, 1), status: { allocatable: { [RESOURCE]: gpus } } } as ApiObject,
      readKubernetesSettings({}),
    );
  const nodes = [
    ...withDevices(
      [node('a', '8'), node('b', '0'), node('c', '0')],
      new Map([
        ['a', 2],
        ['b', 4],
      ]),
    ),
  ];
  expect(nodes.map(({ key, gpus }) => [key, gpus])).toEqual([
    ['a', 8],
    ['b', 4],
    ['c', 0],
  ]);
});

test('recorded answers of 1.36: the devices are watched, and a new GPU counts at once', async () => {
  let emit: ReturnType<typeof openWatch> = () => {};
  const fake = await FakeApiServer.start((url, response) => {
    const isSlices = url.pathname.endsWith('resourceslices');
    if (url.searchParams.get('watch') === 'true') {
      const open = openWatch(response);
      if (isSlices) emit = open;
    } else sendList(response, isSlices ? [slice('a', ['gpu'])] : [WHOLE], '5');
  });
  const devices = new DeviceSlices({ api: fake.api, logger: silentLogger, resource: RESOURCE });
  closing.push(
    () => devices.close(),
    () => fake.close(),
  );
  expect([...(await devices.byNode())]).toEqual([['a', 1]]);
  emit('ADDED', { ...slice('b', ['gpu', 'gpu']), metadata: { name: 'b', uid: 'uid-b', resourceVersion: '6' } });
  await expect.poll(async () => (await devices.byNode()).get('b')).toBe(2);
  expect([...(await readDevices(fake.api, RESOURCE))]).toEqual([['a', 1]]);
});

test.each([404, 403])('a cluster that answers %s has none, and is asked once in five minutes', async (status) => {
  const fake = await FakeApiServer.start((_, response) => send(response, { message: 'no' }, status));
  const devices = new DeviceSlices({ api: fake.api, logger: silentLogger, resource: RESOURCE });
  closing.push(
    () => devices.close(),
    () => fake.close(),
  );
  for (let i = 0; i < 3; i++) expect((await devices.byNode()).size).toBe(0);
  expect(fake.requests.length).toBeLessThanOrEqual(2);
  expect((await readDevices(fake.api, RESOURCE)).size).toBe(0);
});

import { expect, test } from 'vitest';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { ApiError, type ApiRequest } from '../api/api-server.ts';
import type { Pod } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { FilePods } from './file-pods.ts';

const OWNER = { kind: 'volume', id: 'Vol1', dataCenterId: 'LOCAL-1' } as const;
const SIZE = { sizeGb: 10, type: 'STANDARD' } as const;
const IMAGE = { PODYARD_KUBERNETES_MODELS_IMAGE: 'podyard/server:1' };

/** Pods that serve files in a cluster that keeps what it is given. `nodeName`: where a worker has the volume. */
function start(env: Record<string, string> = IMAGE, nodeName: string | null = null) {
  const objects = new Map<string, Pod>();
  const json = async ({ method, path, body }: ApiRequest): Promise<unknown> => {
    if (method === 'POST') {
      const object = body as Pod;
      const at = `${path}/${object.metadata.name}`;
      if (objects.has(at)) throw new ApiError(409, 'AlreadyExists', 'is there');
      objects.set(at, { ...object });
      return object;
    }
    if (method === 'GET' && path === 'pods')
      return { items: [...objects.values()].filter(({ spec }) => spec !== undefined) };
    const found = objects.get(path);
    if (!found) throw new ApiError(404, 'NotFound', 'is not there');
    if (method === 'DELETE') objects.delete(path);
    return found;
  };
  const workers = nodeName === null ? [] : [{ claims: ['claim'], nodeName, phase: 'Running' }];
  const cluster = {
    api: { json },
    path: (kind: string, name?: string) => (name === undefined ? kind : `${kind}/${name}`),
    pods: { current: async () => {}, all: () => workers },
  };
  const files = new FilePods({
    view: async () => cluster as unknown as ClusterView,
    settings: readKubernetesSettings(env),
    installation: 'inst',
    isSimulated: false,
    ensure: async () => 'claim',
  });
  return { files, objects, pod: () => objects.get('pods/podyard-files-vol1')! };
}

test('one pod and one secret serve a volume, whoever asks how often', async () => {
  const { files, objects, pod } = start();
  expect(await files.find('Vol1')).toBeNull();
  await Promise.all([files.start(OWNER, SIZE, 'token'), files.start(OWNER, SIZE, 'token')]);
  await files.start(OWNER, SIZE, 'token');
  expect([...objects.keys()].sort()).toEqual(['pods/podyard-files-vol1', 'secrets/podyard-files-vol1']);
  expect(JSON.stringify(pod())).not.toContain('"token"');
  expect(pod().metadata.labels).not.toHaveProperty('podyard.dev/id'); // it is no workload
  expect(await files.find('Vol1')).toEqual({ waits: 'its pod starts' });
  const waiting = { message: 'Back-off pulling image' };
  pod().status = { phase: 'Pending', containerStatuses: [{ name: 'files', state: { waiting } }] };
  expect(await files.find('Vol1')).toEqual({ waits: 'Back-off pulling image' });
  pod().status = { phase: 'Running', podIP: '10.0.0.9' };
  expect(await files.find('Vol1')).toEqual({ host: '10.0.0.9', port: 8080 });
  await files.remove('Vol1');
  expect(objects.size).toBe(0);
});

test('one that has ended is replaced when somebody asks, and removed when nobody does', async () => {
  const { files, objects, pod } = start();
  await files.start(OWNER, SIZE, 'token');
  pod().status = { phase: 'Running', podIP: '10.0.0.9' };
  await files.sweep();
  expect(pod()).toBeDefined();
  pod().status = { phase: 'Succeeded' };
  expect(await files.find('Vol1')).toBeNull();
  await files.start(OWNER, SIZE, 'token');
  expect(pod().status).toBeUndefined();
  pod().status = { phase: 'Failed' };
  await files.sweep();
  expect([...objects.keys()]).toEqual(['secrets/podyard-files-vol1']);
});

test.each([
  ['ReadWriteOnce', 'node1', 60],
  ['ReadWriteMany', null, 600],
])('with %s it is on the node %s', async (accessMode, node, idleSeconds) => {
  const { files, pod } = start({ ...IMAGE, PODYARD_KUBERNETES_ACCESS_MODE: accessMode }, 'node1');
  await files.start(OWNER, SIZE, 'token');
  const text = JSON.stringify(pod().spec);
  expect(text.includes('"metadata.name","operator":"In","values":["node1"]')).toBe(node !== null);
  expect(text).toContain(`{"name":"FILES_IDLE_SECONDS","value":"${idleSeconds}"}`);
});

test('it drops all capabilities but those over files, and is not root where that is forbidden', async () => {
  const open = start();
  await open.files.start(OWNER, SIZE, 'token');
  expect(JSON.stringify(open.pod())).toContain('"drop":["ALL"],"add":["CHOWN","DAC_OVERRIDE","FOWNER"]');
  const restricted = start({ ...IMAGE, PODYARD_KUBERNETES_POD_SECURITY: 'restricted' });
  await restricted.files.start(OWNER, SIZE, 'token');
  expect(JSON.stringify(restricted.pod())).toContain('"runAsNonRoot":true');
  expect(JSON.stringify(restricted.pod())).not.toContain('"add"');
});

test('without an image of Podyard there is none', () => {
  expect(start({}).files.hindrance).toContain('PODYARD_KUBERNETES_MODELS_IMAGE');
});

import { expect, test, vi } from 'vitest';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import type { ContainerStatus, Pod } from '../api/objects.ts';
import { ModelNodes } from './model-nodes.ts';
import { environmentSecret, podManifest } from './pod-manifest.ts';
import { checkModels } from './pod-models.ts';
import { toPodRecord } from './pod-record.ts';
import { StartJudge } from './start-judge.ts';

const HUB = '/runpod-volume/huggingface-cache/hub';
const SPEC = workloadSpec({
  id: 'w1',
  diskGb: 20,
  memoryBytes: 2 ** 28,
  models: {
    url: 'http://10.0.0.1:8081/secret',
    ids: ['a', 'b'],
    bytes: 1_000,
    hub: HUB,
    folders: [
      { name: 'models/models--org--name', target: `${HUB}/models--org--name` },
      { name: 'cache', target: '/runpod/cache' },
    ],
  },
});
const placeOf = (env: NodeJS.ProcessEnv) => ({
  installation: 'inst',
  settings: readKubernetesSettings({ PODYARD_KUBERNETES_MODELS_IMAGE: 'podyard:1', ...env }),
  gpuProducts: ['NVIDIA-L4'],
});
// biome-ignore lint/suspicious/noExplicitAny: any manifest
const manifest = (env: NodeJS.ProcessEnv = {}) => podManifest(SPEC, placeOf(env)) as any;

test('an init container without rights gets models into the pod’s own folder, which counts as its disk', () => {
  const { spec } = manifest();
  expect(spec.initContainers).toMatchObject([
    {
      name: 'models',
      image: 'podyard:1',
      args: ['copy-models', '/models'],
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      volumeMounts: [{ name: 'models', mountPath: '/models' }],
      resources: { limits: { memory: String(2 ** 29) }, requests: { memory: String(2 ** 28) } },
    },
  ]);
  expect(spec.initContainers[0].securityContext).not.toHaveProperty('runAsUser');
  expect(spec.initContainers[0].env).toContainEqual({ name: 'PODYARD_MODELS_GB', value: '2' });
  expect(spec.volumes).toContainEqual({ name: 'models', emptyDir: {} });
  expect(spec.containers[0].resources.limits['ephemeral-storage']).toBe(String(20 * 2 ** 30 + 1_000));
});

test('the operator’s secrets pull that image, and no pod without models gets them', () => {
  const place = placeOf({ PODYARD_KUBERNETES_PULL_SECRETS: 'ours, more' });
  const secretsOf = (spec: typeof SPEC) =>
    (podManifest(spec, place) as { spec: { imagePullSecrets?: object[] } }).spec.imagePullSecrets;
  const registry = { id: 'R1', auth: { username: 'u', password: 'p' } };
  expect(secretsOf({ ...SPEC, registry })).toEqual([
    { name: 'podyard-registry-r1' },
    { name: 'ours' },
    { name: 'more' },
  ]);
  const { models, ...without } = SPEC;
  expect(models).toBeDefined();
  expect(secretsOf({ ...without, registry })).toEqual([{ name: 'podyard-registry-r1' }]);
  expect(secretsOf(without)).toBeUndefined();
});

test('the workload sees models read-only, in a folder that it may write to', () => {
  expect(manifest().spec.containers[0].volumeMounts.slice(1)).toEqual([
    { name: 'hub', mountPath: HUB },
    {
      name: 'models',
      mountPath: `${HUB}/models--org--name`,
      subPath: 'workers/w1/models/models--org--name',
      readOnly: true,
    },
    { name: 'models', mountPath: '/runpod/cache', subPath: 'workers/w1/cache', readOnly: true },
  ]);
});

test('workers of a node share the folder that the operator names, one for each installation', () => {
  const { spec } = manifest({ PODYARD_KUBERNETES_MODELS_PATH: '/data/models', PODYARD_KUBERNETES_MODELS_GB: '500' });
  const hostPath = { path: '/data/models/inst', type: 'DirectoryOrCreate' };
  expect(spec.volumes).toContainEqual({ name: 'models', hostPath });
  expect(spec.initContainers[0].env).toContainEqual({ name: 'PODYARD_MODELS_GB', value: '500' });
  expect(spec.initContainers[0].securityContext).toMatchObject({ runAsUser: 0, capabilities: { drop: ['ALL'] } });
  expect(spec.containers[0].resources.limits['ephemeral-storage']).toBe('20Gi');
  expect(() => manifest({ PODYARD_KUBERNETES_MODELS_PATH: '/data/../etc' })).toThrow(/must be an absolute path/);
});

test('a node that got all models is preferred, and no other is ruled out', () => {
  const nodes = new ModelNodes();
  nodes.note(['a', 'b'], 'one');
  nodes.note(['a'], 'two');
  expect(nodes.having(['a', 'b'])).toEqual(['one']);
  expect(nodes.having(['a', 'c'])).toEqual([]);
  const place = { ...placeOf({}), modelNodes: nodes.having(['a', 'b']) };
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['one'] }];
  expect(podManifest(SPEC, place)).toMatchObject({
    spec: {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 50, preference: { matchFields } }],
        },
      },
    },
  });
  for (let i = 0; i < 50; i++) nodes.note(['a'], `node${i}`);
  expect(nodes.having(['a'])).toHaveLength(20);
});

test('where models are read is in the Secret alone', () => {
  expect(JSON.stringify(manifest())).not.toContain('10.0.0.1');
  expect(environmentSecret(SPEC, 'inst', 'uid')).toMatchObject({
    stringData: { PODYARD_MODELS_URL: 'http://10.0.0.1:8081/secret' },
  });
});

test('without models nothing is added, and without an image models are refused with what to do', () => {
  const place = placeOf({ PODYARD_KUBERNETES_MODELS_IMAGE: '' });
  const { models: _, ...plain } = SPEC;
  expect(JSON.stringify(podManifest(plain, place))).not.toMatch(/initContainers|"hub"/);
  expect(() => checkModels(plain, place)).not.toThrow();
  expect(() => checkModels(SPEC, place)).toThrow(/PODYARD_KUBERNETES_MODELS_IMAGE/);
});

const progress = () => ({ last: { reason: '', message: '', at: performance.now() } });
const podWith = (state: ContainerStatus['state'], phase: NonNullable<Pod['status']>['phase'] = 'Pending') =>
  toPodRecord({
    metadata: { name: 'podyard-w1', uid: 'u', resourceVersion: '1' },
    spec: { containers: [{ name: 'workload' }], nodeName: 'node1' },
    status: { phase, initContainerStatuses: [{ name: 'models', ...(state && { state }) }] },
  } as Pod);

test('models that could not be copied fail a start with the sentence of the container', () => {
  const judge = (...of: Parameters<typeof podWith>) =>
    new StartJudge(SPEC, 1_000, progress()).judge(podWith(...of), null);
  const ended = (message: string, exitCode = 1) => judge({ terminated: { exitCode, message } }, 'Failed');
  expect(judge({ terminated: { exitCode: 0 } })).toBeUndefined();
  expect(() => ended('fetching the model org/a: 1 of 2\npodyard: the node has no room\n')).toThrow(
    /^the node has no room$/,
  );
  expect(() => ended('', 137)).toThrow('its models could not be copied to the node: no reason (status 137)');
  expect(() => judge({ waiting: { reason: 'ErrImagePull', message: 'not found' } })).toThrow(
    /^the image that copies models to the node cannot be pulled: ErrImagePull: not found$/,
  );
});

test('a copy may last as long as it needs', () => {
  vi.useFakeTimers();
  try {
    const judge = new StartJudge(SPEC, 1_000, progress());
    const isRunning = podWith({ running: {} });
    for (let minutes = 0; minutes < 20; minutes++) {
      vi.advanceTimersByTime(60_000);
      expect(judge.judge(isRunning, null)).toBeUndefined();
    }
  } finally {
    vi.useRealTimers();
  }
});

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { HelmPrograms } from './helm-programs.ts';

const run = promisify(execFile);

export const CHART = fileURLToPath(new URL('../../deploy/helm/podyard', import.meta.url));

/** A Kubernetes object as the chart renders it. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: every kind has its own fields
  [member: string]: any;
}

/** The values that a release requires. */
export const MINIMUM = {
  database: { url: 'postgresql://podyard:pw@db.example.com/podyard' },
  keys: { masterKey: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', adminKey: 'pyk_first' },
};

/** Everything enabled, with values other than the defaults and a separate namespace for workloads. */
export const EVERYTHING = {
  global: { imageRegistry: 'registry.example.com:5000/mirror/', imagePullSecrets: [{ name: 'of-all' }] },
  image: {
    registry: 'unused.example.com',
    repository: 'team/podyard',
    digest: `sha256:${'0123456789abcdef'.repeat(4)}`,
    pullPolicy: 'Always',
    pullSecrets: [{ name: 'registry' }],
  },
  imagePullSecrets: [{ name: 'registry' }, { name: 'more' }],
  commonLabels: { team: 'platform' },
  database: { existingSecret: 'own-database', existingSecretKey: 'url' },
  keys: { existingSecret: 'own-keys' },
  podsHost: 'pods.example.com',
  lbHost: 'lb.example.com:8443',
  trustedProxies: ['10.0.0.0/8', '::1'],
  tlsSecret: 'own-certificate',
  logs: { retentionDays: 7, size: '500MB' },
  config: { PODYARD_LOG_LEVEL: 'debug', PODYARD_RUN_BODY_BYTES: 10_485_760, PODYARD_ALLOW_PRIVATE_WEBHOOKS: true },
  catalog: { dataCenters: [{ id: 'EU-1' }] },
  recipes: [{ name: 'own' }],
  server: {
    ...processes(),
    autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 30, targetCpu: 50 },
  },
  control: processes(),
  service: {
    type: 'LoadBalancer',
    port: 443,
    nodePort: 30_443,
    annotations: { 'example.com/a': 'b' },
    externalTrafficPolicy: 'Local',
    loadBalancerSourceRanges: ['192.0.2.0/24'],
  },
  workerApi: { port: 9000, clusterIP: '10.96.0.77', host: 'workers.example.com' },
  ingress: { enabled: true, className: 'any', host: 'podyard.example.com', annotations: { 'example.com/a': 'b' } },
  workloads: {
    namespace: 'gpu-work',
    createNamespace: true,
    gpuLabel: 'example.com/gpu',
    gpuResource: 'amd.com/gpu',
    dataCenterLabel: 'example.com/place',
    nodeSelector: { 'example.com/for': 'podyard' },
    gpuRuntimeClass: 'nvidia',
    tolerations: [
      { key: 'amd.com/gpu', operator: 'Exists', effect: 'NoSchedule' },
      { key: 'team', value: 'ml' },
    ],
    accessMode: 'ReadWriteOnce',
    pullPolicy: 'Always',
    podSecurity: 'restricted',
    userNamespaces: true,
    endpointMetadata: ['kueue.x-k8s.io/queue-name', 'sidecar.istio.io/inject'],
    maxCpusPerGpu: 8,
    maxMemoryPerGpu: '64GiB',
    podLabels: { 'kueue.x-k8s.io/queue-name': 'gpus' },
    podAnnotations: { 'sidecar.istio.io/inject': 'false' },
    pendingSeconds: 60,
    serviceType: 'LoadBalancer',
    publicIp: '192.0.2.1',
    storageClasses: { STANDARD: 'slow', HIGH_PERFORMANCE: 'fast' },
    memoryPerGpu: '64GiB',
    cpusPerGpu: 8,
    simulateGpus: 'ADA_24:4',
    priorityClasses: { create: true, value: 1_000_000 },
  },
  rbac: { otherPods: true },
  serviceAccounts: { annotations: { 'example.com/role': 'x' } },
  networkPolicy: { enabled: true, extraEgress: [{ to: [{ ipBlock: { cidr: '10.9.0.0/16' } }] }] },
  serviceMonitor: { enabled: true, interval: '10s', labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  extraObjects: [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' } },
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "podyard.fullname" . }}-text\n',
  ],
};

function processes() {
  return {
    resources: { requests: { cpu: '1' }, limits: { memory: '2Gi' } },
    terminationGracePeriodSeconds: 90,
    stopDelaySeconds: 7,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'a', operator: 'Exists' }],
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
    ],
    priorityClassName: 'system-cluster-critical',
    podAnnotations: { 'example.com/a': 'b' },
    podLabels: { a: 'b' },
    extraEnv: [{ name: 'MORE', value: 'x' }],
    extraEnvFrom: [{ secretRef: { name: 'more' } }],
    extraVolumes: [{ name: 'more', emptyDir: {} }],
    extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
  };
}

export interface RenderOptions {
  namespace?: string;
  kubeVersion?: string;
  apiVersions?: readonly string[];
  /** Look up the API versions and objects of this cluster, like an install. */
  kubeconfig?: string;
  /** A packed chart instead of the checkout's. */
  chart?: string;
}

/** Runs `helm template` for the release `py`. Rejects with the error of Helm. */
export async function renderText({ helm }: HelmPrograms, values: object, options: RenderOptions = {}): Promise<string> {
  const { namespace = 'podyard', kubeVersion, apiVersions = [], kubeconfig, chart = CHART } = options;
  return withValues(values, async (file) => {
    const flags = [
      ...['--namespace', namespace, '--values', file],
      ...(kubeVersion ? ['--kube-version', kubeVersion] : []),
      ...apiVersions.flatMap((version) => ['--api-versions', version]),
      ...(kubeconfig ? ['--dry-run=server'] : []),
    ];
    const env = { PATH: process.env.PATH, HOME: tmpdir(), ...(kubeconfig && { KUBECONFIG: kubeconfig }) };
    const { stdout } = await run(helm, ['template', 'py', chart, ...flags], { env, maxBuffer: 2 ** 26 });
    return stdout;
  });
}

export async function render(programs: HelmPrograms, values: object, options?: RenderOptions): Promise<Manifest[]> {
  const text = await renderText(programs, values, options);
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    if ('errors' in document && document.errors.length > 0) throw document.errors[0];
    return (document.toJS() as Manifest | null) ?? [];
  });
}

/** Passes values as a temporary file, because they may hold secrets, which must not appear on command lines. */
export async function withValues<T>(values: object, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-values-'));
  try {
    const file = join(folder, 'values.json');
    await writeFile(file, JSON.stringify(values), { mode: 0o600 });
    return await use(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

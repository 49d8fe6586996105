import type { Static, TUnsafe } from 'typebox';
import type { FailureKind } from '../../core/errors.ts';
import type { NewPod } from '../../domain/pods/create-pod.ts';
import type { Pod } from '../../domain/pods/pod.ts';
import { type PodUsage, READ_TIMEOUT_MS } from '../../domain/pods/pod-figures.ts';
import { podRuntime } from '../../domain/pods/pod-runtime.ts';
import { CREATED_AT, type NamedSchemas } from '../shared/example-values.ts';
import { includes } from '../shared/include-query.ts';
import { LEAST_VCPUS, type LeastVcpus, showVcpus } from '../shared/least-vcpus.ts';
import { refuseTemplate } from '../shared/refuse-template.ts';
import type { RouteDeps } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { describePodOrTemplate, readPodOrTemplate } from '../shared/terraform.ts';
import type { Wire } from '../shared/wire.ts';
import {
  type CreatePodRequest,
  CreatePodRequest07,
  CreatePodRequest08,
  PodList,
  PodResponse,
  type ShownPod,
  toNewPod as toNew,
  toPodResponse,
  UpdatePodRequest,
} from './pod-fields.ts';
import type { CreatePodQuery } from './pod-schemas.ts';
import { PodAccess, PodActionRequest, PodJupyter, PodLifetime } from './pod-schemas.ts';

type Response = Static<typeof PodResponse>;

/** How a revision spells pods. */
export interface PodWire extends Wire {
  /** A reference to the schema. */
  readonly CreateRequest: TUnsafe<CreatePodRequest>;
  readonly leastVcpus: LeastVcpus;
  /** Whether a pod gets the account's SSH keys if neither the request nor its template says so. */
  readonly sshByDefault: boolean;
  /** Whether an answer names the template that the pod was created from. */
  readonly showsTemplate: boolean;
  /** Failures of a create besides those of every create. */
  readonly createFailures: FailureKind[];
  /** Throws the revision's own failure in place of the domain's. */
  refuse(error: unknown): never;
}

const settings = {
  name: 'notebook',
  image: 'ghcr.io/example/notebook:2.1.0',
  args: '',
  disk: 20,
  ports: ['8888/http', '22/tcp'],
  env: { JUPYTER_TOKEN: '{{ RUNPOD_SECRET_jupyter }}' },
  registry: null,
  gpu: { id: 'NVIDIA GeForce RTX 4090', count: 1 },
  mounts: { persistent: { size: 50, path: '/workspace' } },
  cloud: 'SECURE',
};

const pod = {
  id: 'p6f3k9x2m5h8rd',
  ...settings,
  status: 'RUNNING',
  actions: ['stop', 'restart', 'terminate'],
  dataCenterId: 'LOCAL-1',
  template: null,
  cost: 0.69,
  locked: false,
  globalNetworking: { enabled: false },
  runtime: {
    uptime: 754,
    gpus: [{ util: 87, memoryUtil: 41.5 }],
    cpu: { util: 12.5 },
    memory: { util: 33 },
    ports: [
      { private: 8888, public: null, type: 'http', ip: null },
      { private: 22, public: 32768, type: 'tcp', ip: '127.0.0.1' },
    ],
  },
  cudaVersion: '12.8',
  ssh: {
    proxy: null,
    direct: { host: '127.0.0.1', port: 32768, username: 'root', command: 'ssh root@127.0.0.1 -p 32768' },
  },
  createdAt: CREATED_AT,
  startedAt: '2026-11-20T09:30:07.000Z',
};

export const POD_SCHEMAS: NamedSchemas = [
  [PodResponse, pod],
  [PodList, { pods: [pod] }],
  [UpdatePodRequest, { image: 'ghcr.io/example/notebook:2.2.0' }],
  [PodActionRequest, { action: 'stop' }],
  [PodAccess, { private: true }],
  [PodLifetime, { stopAfter: '2030-01-31T18:00:00.000Z', terminateAfter: null }],
  [PodJupyter, { password: 'Zk3nV0eJtqYx8uWm1sRb5cLdP7fHgA2i' }],
];

const createExample = { ...settings, startSsh: true };

const hint = { explain: describePodOrTemplate, read: readPodOrTemplate };
const hints = { CreatePodRequest: hint, UpdatePodRequest: hint };

export const POD_WIRE_2026_07: PodWire = {
  schemas: [[CreatePodRequest07, createExample]],
  hints,
  CreateRequest: ref(CreatePodRequest07),
  leastVcpus: LEAST_VCPUS['2026-07'],
  sshByDefault: true,
  showsTemplate: true,
  createFailures: [],
  refuse: (error) => {
    throw error;
  },
};

export const POD_WIRE_2026_08: PodWire = {
  schemas: [[CreatePodRequest08, createExample]],
  hints,
  CreateRequest: ref(CreatePodRequest08),
  leastVcpus: LEAST_VCPUS['2026-08'],
  sshByDefault: false,
  showsTemplate: false,
  createFailures: ['notFound'],
  refuse: refuseTemplate,
};

/** Fills in the defaults of a create, except those that a template may provide. */
export function toNewPod(
  { sshByDefault }: PodWire,
  body: CreatePodRequest,
  { private: isPrivate = false }: Static<typeof CreatePodQuery>,
): NewPod {
  return { ...toNew(body), isPrivate, sshByDefault };
}

/** Returns one pod's response, with live figures if it runs. */
export async function readPodResponse(deps: RouteDeps, wire: PodWire, pod: Pod): Promise<Response> {
  return (await readPodResponses(deps, wire, [pod], READ_TIMEOUT_MS.one))[0]!;
}

export async function readPodResponses(
  deps: RouteDeps,
  wire: PodWire,
  pods: readonly Pod[],
  timeoutMs: number = READ_TIMEOUT_MS.list,
): Promise<Response[]> {
  const running = pods.filter((pod) => pod.status === 'RUNNING').map((pod) => pod.id);
  const figures = running.length === 0 ? undefined : await deps.podFigures.read(running, timeoutMs);
  return pods.map((pod) => toResponse(wire, pod, figures?.get(pod.id), deps.clock.now()));
}

/** Returns what `include=REASON` adds. */
export function reasonOf({ statusReason }: Pod, query: { include?: string }): { reason?: string | null } {
  return includes(query, 'REASON') ? { reason: statusReason } : {};
}

function toResponse(wire: PodWire, pod: Pod, usage: PodUsage | undefined, now: number): Response {
  return toPodResponse({
    ...pod,
    cpu: pod.cpu && showVcpus(pod.cpu, wire.leastVcpus),
    templateId: wire.showsTemplate ? pod.templateId : null,
    runtime: pod.status === 'RUNNING' ? toRuntime(pod, usage, now) : null,
  });
}

function toRuntime(pod: Pod, usage: PodUsage | undefined, now: number): ShownPod['runtime'] {
  const { uptimeSeconds, cpuUtil, memoryUtil, gpus } = podRuntime(pod, usage, now);
  return {
    uptime: uptimeSeconds,
    gpus,
    cpu: { util: cpuUtil },
    memory: { util: memoryUtil },
    ports: pod.publishedPorts,
  };
}

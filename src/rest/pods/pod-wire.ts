import type { Static, TUnsafe } from 'typebox';
import type { FailureKind } from '../../core/errors.ts';
import type { NewPod } from '../../domain/pods/create-pod.ts';
import type { Pod } from '../../domain/pods/pod.ts';
import { type PodUsage, READ_TIMEOUT_MS } from '../../domain/pods/pod-figures.ts';
import { podRuntime } from '../../domain/pods/pod-runtime.ts';
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
  type PodResponse,
  type ShownPod,
  toNewPod as toNew,
  toPodResponse,
} from './pod-fields.ts';
import type { CreatePodQuery } from './pod-schemas.ts';
import { POD_EXAMPLES } from './pod-schemas.ts';

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

const examples = { CreatePodRequest: POD_EXAMPLES.CreatePodRequest };

const hint = { explain: describePodOrTemplate, read: readPodOrTemplate };
const hints = { CreatePodRequest: hint, UpdatePodRequest: hint };

export const POD_WIRE_2026_07: PodWire = {
  schemas: [CreatePodRequest07],
  examples,
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
  schemas: [CreatePodRequest08],
  examples,
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

import type { Schemas } from '../../api/client.ts';
import { changesOf } from '../../ui/forms/changes.ts';
import type { Fields } from '../../ui/forms/fields.ts';
import type { SummaryText } from '../../ui/forms/summary.tsx';
import { formatDate, NO_VALUE } from '../../ui/text/format.ts';
import type { StatusLook } from '../../ui/text/labels.ts';

export type Pod = Schemas['Pod'];
type Lifetime = Schemas['PodLifetime'];

/** How the states of pods are shown. */
export const POD_STATUSES = {
  PROVISIONING: { label: 'Provisioning', color: 'blue' },
  STARTING: { label: 'Starting', color: 'blue' },
  RUNNING: { label: 'Running', color: 'green' },
  EXITED: { label: 'Exited', color: 'gray' },
  ERROR: { label: 'Error', color: 'red' },
  TERMINATED: { label: 'Terminated', color: 'gray' },
} as const satisfies Record<Pod['status'], StatusLook>;

/** `2 × NVIDIA L4` or `4 vCPU, 16 GB`. */
export function describeHardware({ gpu, cpu }: Pick<Pod, 'gpu' | 'cpu'>): string {
  if (gpu) return `${gpu.count} × ${gpu.id}`;
  return cpu ? `${cpu.vcpuCount} vCPU, ${cpu.memory} GB` : NO_VALUE;
}

export interface PortRow {
  /** As in the pod's settings: `8888/http`. */
  name: string;
  port: string;
  isHttp: boolean;
  /** `host:port` of a TCP port that is published now. */
  address: string | null;
}

/** Returns a row for each port of a pod. */
export function portRows({ ports, runtime }: Pick<Pod, 'ports' | 'runtime'>): PortRow[] {
  return ports.map((name) => {
    const [port = '', protocol] = name.split('/');
    const published = runtime?.ports.find((entry) => String(entry.private) === port && entry.type === protocol);
    const address = published?.public ? `${published.ip ?? ''}:${published.public}` : null;
    return { name, port, isHttp: protocol === 'http', address };
  });
}

/** Describes the storage that a pod mounts besides its container disk. */
export function describeMounts({ mounts }: Pick<Pod, 'mounts'>): { persistent: string; network: string } {
  const { persistent, network = [] } = mounts;
  return {
    persistent: persistent ? `${persistent.size} GB at ${persistent.path}` : NO_VALUE,
    network: network.map(({ volumeId, path }) => `${volumeId} at ${path}`).join(', ') || NO_VALUE,
  };
}

/** Returns the actions that the page offers in the pod's status; a locked pod can only be started. */
export function podActions({ actions, locked }: Pick<Pod, 'actions' | 'locked'>) {
  return (['start', 'stop', 'restart'] as const)
    .filter((action) => actions.includes(action))
    .map((action) => ({ action, isDisabled: locked && action !== 'start' }));
}

/** Returns the URL of a pod's HTTP port: a name of its own under the console's host. */
export function portUrl(baseUrl: string, podId: string, port: string): string {
  const url = new URL(baseUrl);
  const isLoopback = url.hostname === '127.0.0.1' || url.hostname === '[::1]';
  url.hostname = `${podId}-${port}.${isLoopback ? 'localhost' : url.hostname}`;
  return `${url.origin}/`;
}

/** Maps a time to the value of a `datetime-local` field, in the browser's time zone; null to an empty one. */
export function toFieldValue(time: string | null): string {
  if (time === null) return '';
  const date = new Date(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** The opposite. */
export function fromFieldValue(value: string): string | null {
  return value === '' ? null : new Date(value).toISOString();
}

export interface LifetimeValues {
  stopAfter: string;
  terminateAfter: string;
}

export const LIFETIME_FIELDS: Fields<LifetimeValues> = {
  stopAfter: { label: 'Stop after', help: 'Empty: never', initial: '' },
  terminateAfter: { label: 'Terminate after', help: 'Empty: never', initial: '' },
};

export function lifetimeValues({ stopAfter, terminateAfter }: Lifetime): LifetimeValues {
  return { stopAfter: toFieldValue(stopAfter), terminateAfter: toFieldValue(terminateAfter) };
}

/** `Stopped at Nov 27, 2026, 12:00 PM`, or `Never by itself`. */
export function lifetimeText({ stopAfter, terminateAfter }: Lifetime): string {
  const ends = [
    ...(stopAfter === null ? [] : [`stopped at ${formatDate(stopAfter)}`]),
    ...(terminateAfter === null ? [] : [`terminated at ${formatDate(terminateAfter)}`]),
  ].join(', ');
  return ends === '' ? 'Never by itself' : ends.charAt(0).toUpperCase() + ends.slice(1);
}

/** Says what happens to the pod, and what changes. */
export function lifetimeSummary(values: LifetimeValues, before: LifetimeValues): SummaryText {
  const changes = changesOf(LIFETIME_FIELDS, before, values).map((change) => ({
    ...change,
    before: change.before.replace('T', ' '),
    after: change.after.replace('T', ' '),
  }));
  return {
    facts: [
      { label: 'Stopped', value: 'its storage stays; it can be started again' },
      { label: 'Terminated', value: 'it and its storage are deleted' },
    ],
    warning:
      values.terminateAfter !== '' && values.stopAfter !== '' && values.terminateAfter <= values.stopAfter
        ? 'It is terminated before it would be stopped.'
        : null,
    changes,
  };
}

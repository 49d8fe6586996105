import type { Schemas } from '../../../api/client.ts';
import type { StatusLook } from '../../../ui/text/labels.ts';

export type WorkerStatus = Schemas['WorkerDetail']['status'];

/** How the states of workers are shown. `reasonColor` is for a reason why a worker is in it. */
export const WORKER_STATUSES = {
  RUNNING: { label: 'Running', color: 'green', reasonColor: 'orange' },
  IDLE: { label: 'Idle', color: 'cyan', reasonColor: 'orange' },
  INITIALIZING: { label: 'Initializing', color: 'blue', reasonColor: 'orange' },
  THROTTLED: { label: 'Throttled', color: 'orange', reasonColor: 'orange' },
  UNHEALTHY: { label: 'Unhealthy', color: 'red', reasonColor: 'red' },
  FROZEN: { label: 'Frozen', color: 'indigo', reasonColor: 'orange' },
  EXITED: { label: 'Exited', color: 'gray', reasonColor: 'gray' },
} as const satisfies Record<WorkerStatus, StatusLook & { reasonColor: string }>;

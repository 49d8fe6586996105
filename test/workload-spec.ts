import { newId } from '../src/core/ids.ts';
import type { WorkloadSpec } from '../src/runtimes/runtime.ts';

/** Returns the spec of a plain worker, changed by `more`. */
export function workloadSpec(more: Partial<WorkloadSpec> = {}): WorkloadSpec {
  return {
    id: newId(),
    kind: 'worker',
    image: 'any:v1',
    registry: null,
    args: '',
    env: {},
    diskGb: 1,
    ports: [],
    gpu: null,
    dataCenterId: null,
    memoryBytes: null,
    cpus: null,
    mounts: [],
    isPriority: false,
    ...more,
  };
}

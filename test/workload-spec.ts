import { newId } from '../src/core/ids.ts';
import type { WorkloadSpec } from '../src/runtimes/runtime.ts';

/** A worker that asks for nothing in particular, but for what `more` says. */
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

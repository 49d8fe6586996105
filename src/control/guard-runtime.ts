import { Failure } from '../core/errors.ts';
import type { EvictionGuard, GpuSleep, GroupNetworks, Runtime } from '../runtimes/runtime.ts';

/** Methods that change a workload. The others only read. */
const CHANGES: ReadonlySet<string | symbol> = new Set<keyof Runtime>([
  'start',
  'stop',
  'freeze',
  'thaw',
  'tidy',
  'keepImages',
  'pullAhead',
]);
const GPU_CHANGES: ReadonlySet<string | symbol> = new Set<keyof GpuSleep>(['release', 'claim', 'suspend', 'resume']);

const EVICTION_CHANGES: ReadonlySet<string | symbol> = new Set<keyof EvictionGuard>(['keep', 'release']);
const GROUP_CHANGES: ReadonlySet<string | symbol> = new Set<keyof GroupNetworks>(['ensure', 'remove']);

/**
 * Returns a runtime that changes workloads only while `isAllowed` returns true. A process that no longer leads learns of it
 * by a refused write, and must not clean up after that: the next leader may have adopted the container.
 */
export function guardRuntime<R extends Runtime>(runtime: R, isAllowed: () => boolean): R {
  const { evictions, gpuSleep, groups } = runtime;
  const guarded = guard(runtime, CHANGES, isAllowed);
  const parts: Record<string | symbol, unknown> = {
    groups: guard(groups, GROUP_CHANGES, isAllowed),
    evictions: evictions && guard(evictions, EVICTION_CHANGES, isAllowed),
    gpuSleep: gpuSleep && guard(gpuSleep, GPU_CHANGES, isAllowed),
  };
  return new Proxy(guarded, {
    get: (target, name) => (Object.hasOwn(parts, name) ? parts[name] : Reflect.get(target, name, target)),
  });
}

function guard<T extends object>(object: T, changes: ReadonlySet<string | symbol>, isAllowed: () => boolean): T {
  return new Proxy(object, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (!changes.has(name)) return member.bind(target);
      return async (...args: unknown[]) => {
        if (!isAllowed()) throw new Failure('unavailable', 'this process does not lead');
        return member.apply(target, args);
      };
    },
  });
}

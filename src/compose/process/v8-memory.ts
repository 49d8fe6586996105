import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Gives memory back that V8 took for a start or a burst of work and would keep until its next full collection, which at rest
 * never comes: 35 MB of 160. It takes a tenth of a second of a process in which nothing happens.
 */
export class IdleCompactor {
  readonly #deps: IdleCompactorDeps;
  readonly #bounds: CompactorBounds;
  /** The heap's size after the last collection, bytes. */
  #compacted = 0;

  constructor(deps: IdleCompactorDeps, bounds: CompactorBounds) {
    this.#deps = deps;
    this.#bounds = bounds;
  }

  /** Collects if the process was idle since the last call, and its heap has grown and is small enough. */
  runOnce(): void {
    const { readUtilization, readHeapBytes, collect } = this.#deps;
    const { utilization, maxBytes, worthBytes } = this.#bounds;
    if (readUtilization() > utilization) return;
    const heap = readHeapBytes();
    if (heap > maxBytes || heap < this.#compacted + worthBytes) return;
    collect();
    this.#compacted = readHeapBytes();
  }
}

interface IdleCompactorDeps {
  /** The share of the time since the last call in which the event loop was busy. */
  readUtilization: () => number;
  readHeapBytes: () => number;
  collect: () => void;
}

interface CompactorBounds {
  /** The time in which a process has to be idle. */
  checkMs: number;
  /** The share of it that the event loop of an idle process is busy at most. */
  utilization: number;
  /** Larger heaps are left alone: a collection takes about 1.5 ms for each MB that lives. */
  maxBytes: number;
  /** How much the heap must have grown. */
  worthBytes: number;
}

/** For processes that serve clients. */
export const SERVING: CompactorBounds = {
  checkMs: 10_000,
  utilization: 0.02,
  maxBytes: 128 * 2 ** 20,
  worthBytes: 16 * 2 ** 20,
};
/**
 * For a process with the role control alone, which may follow tens of thousands of workers and is never quite idle then. It starts them in
 * a burst, from which V8 keeps twice the live memory in half-empty pages; a collection delays only workers. The pauses between changes may be short.
 */
export const CONTROL_ALONE: CompactorBounds = {
  checkMs: 5_000,
  utilization: 0.15,
  maxBytes: 512 * 2 ** 20,
  worthBytes: 96 * 2 ** 20,
};

/** Starts to look every `checkMs`. Returns the function that ends it; it does not keep the process alive. */
export function compactWhenIdle(bounds: CompactorBounds): () => void {
  const collect = findCollector();
  if (collect === null) return () => {};
  let last = performance.eventLoopUtilization();
  const readUtilization = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
  const deps = {
    readUtilization,
    readHeapBytes: () => process.memoryUsage().heapTotal,
    collect,
  };
  const compactor = new IdleCompactor(deps, bounds);
  const timer = setInterval(() => compactor.runOnce(), bounds.checkMs).unref();
  return () => clearInterval(timer);
}

/**
 * V8's collector, which `--expose-gc` gives to programs; taken this way it works with every command line. Null where V8 has
 * none to give: then memory stays as it is. `last-resort` also gives the memory back to the system.
 */
export function findCollector(): (() => void) | null {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext("typeof gc === 'function' ? gc : null");
  setFlagsFromString('--no-expose-gc');
  if (typeof gc !== 'function') return null;
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** An option of V8 (`node --v8-options`). A V8 without it says so on stderr, and requests are allocated as before. */
export const NO_PRETENURING = '--no-allocation-site-pretenuring';

/**
 * Makes V8 allocate the objects of requests in the young generation, always. By default it learns which code creates objects that
 * outlive collections, and has that code allocate them in old space from then on. Under load it is the code of requests, and
 * everything that an old request refers to stays in memory until the next full collection
 * (docs/decisions/0066-requests-that-v8-creates-old.md).
 */
export function disablePretenuring(): void {
  setFlagsFromString(NO_PRETENURING);
}

import { type Because, because, withNote } from './because.ts';
import { byRelease, whyOutdated } from './releases.ts';
import { isCurrent, type Leave, type ScalingInput, type ScalingWorker } from './situation.ts';

/** A frozen worker of any endpoint, as it counts against the memory budget. */
export interface FrozenWorker {
  id: string;
  isPriority: boolean;
  memoryBytes: number;
  frozenAt: number;
}

/** Returns what an endpoint may not evict: frozen workers of PRIORITY_FLASHBOOT endpoints, unless it is one itself. Bytes. */
export function reservedBytes(
  flashboot: ScalingInput['endpoint']['flashboot'],
  frozen: readonly FrozenWorker[],
): number {
  if (flashboot === 'PRIORITY_FLASHBOOT') return 0;
  return frozen.reduce((sum, worker) => sum + (worker.isPriority ? worker.memoryBytes : 0), 0);
}

/** Returns the frozen workers to evict so that the rest fits the budget: the oldest first, PRIORITY_FLASHBOOT last. */
export function frozenOverBudget(frozen: readonly FrozenWorker[], budgetBytes: number): Leave[] {
  let bytes = frozen.reduce((sum, worker) => sum + worker.memoryBytes, 0);
  const leave: Leave[] = [];
  for (const worker of [...frozen].sort(byEvictionOrder)) {
    if (bytes <= budgetBytes) break;
    bytes -= worker.memoryBytes;
    leave.push({ id: worker.id, ...because('FROZEN_MEMORY', inGigabytes(budgetBytes)) });
  }
  return leave;
}

/** The order in which frozen workers are evicted. */
export function byEvictionOrder(
  a: Pick<FrozenWorker, 'isPriority' | 'frozenAt'>,
  b: Pick<FrozenWorker, 'isPriority' | 'frozenAt'>,
): number {
  return Number(a.isPriority) - Number(b.isPriority) || a.frozenAt - b.frozenAt;
}

/**
 * Splits idle workers into those to freeze and those to drain. `staying` counts the workers that stay or are added: more than
 * `workers.max` in total could never be used.
 */
export function freezeOrDrain(
  input: ScalingInput,
  idle: readonly Leave[],
  staying: number,
): { freeze: Leave[]; drain: Leave[] } {
  const { endpoint, workers, frozenMemory } = input;
  if (endpoint.flashboot === 'OFF') return { freeze: [], drain: [...idle] };
  const byId = new Map(workers.map((worker) => [worker.id, worker]));
  const frozen = workers.filter((worker) => worker.state === 'frozen' && isCurrent(endpoint, worker)).length;
  let roomBytes = frozenMemory.budgetBytes - frozenMemory.reservedBytes;
  const freeze: Leave[] = [];
  const drain: Leave[] = [];
  for (const { id, ...why } of idle) {
    const worker = byId.get(id)!;
    const isFirst = frozen + freeze.length === 0;
    const hindrance =
      worker.state === 'ready'
        ? hindranceToFreeze(input, worker, { roomBytes, isFirst, count: staying + frozen + freeze.length })
        : null;
    if (worker.state !== 'ready') drain.push({ id, ...why });
    else if (hindrance !== null) drain.push({ id, ...withNote(why, `not frozen: ${hindrance}`) });
    else {
      freeze.push({ id, ...withNote(why, 'frozen, to be awake sooner') });
      roomBytes -= worker.memoryBytes;
    }
  }
  return { freeze, drain };
}

/** Returns why a worker may not be frozen, or null. PRIORITY_FLASHBOOT keeps one worker even if it has not worked yet. */
function hindranceToFreeze(
  { endpoint, frozenMemory }: ScalingInput,
  worker: ScalingWorker,
  { roomBytes, isFirst, count }: { roomBytes: number; isFirst: boolean; count: number },
): string | null {
  if (count >= endpoint.max) return `workers.max allows ${endpoint.max}`;
  const isKept = endpoint.flashboot === 'PRIORITY_FLASHBOOT' && isFirst;
  if (!worker.hasWorked && !isKept) return 'it has done no work yet';
  if (worker.memoryBytes <= roomBytes) return null;
  return `it holds ${inGigabytes(worker.memoryBytes)} of memory, frozen workers may hold ${inGigabytes(frozenMemory.budgetBytes)} in all`;
}

/** Returns the frozen workers of an endpoint that are no longer useful. `expected` counts its other workers. */
export function frozenToStop({ endpoint }: ScalingInput, frozen: readonly ScalingWorker[], expected: number): Leave[] {
  const useless = (worker: ScalingWorker): Because | null => {
    if (endpoint.max === 0) return because('OVER_MAXIMUM', 0);
    if (endpoint.flashboot === 'OFF') return because('FLASHBOOT_OFF');
    if (isCurrent(endpoint, worker)) return null;
    return whyOutdated(endpoint, worker);
  };
  const kept = frozen.filter((worker) => useless(worker) === null).sort((a, b) => frozenSince(a) - frozenSince(b));
  const beyond = kept.slice(0, Math.max(0, Math.min(kept.length, kept.length + expected - endpoint.max)));
  return [
    ...frozen.flatMap((worker) => {
      const why = useless(worker);
      return why === null ? [] : [{ id: worker.id, ...why }];
    }),
    ...beyond.map(({ id }) => ({ id, ...because('OVER_MAXIMUM', endpoint.max) })),
  ];
}

/** Returns the frozen workers that can be thawed: the newest release first, then the one frozen last. */
export function thawable({ endpoint, workers }: ScalingInput): ScalingWorker[] {
  if (endpoint.flashboot === 'OFF') return [];
  return workers
    .filter((worker) => worker.state === 'frozen' && isCurrent(endpoint, worker))
    .sort((a, b) => byRelease(a, b) || frozenSince(b) - frozenSince(a));
}

/** A worker that is only about to be frozen counts as frozen last. */
function frozenSince(worker: ScalingWorker): number {
  return worker.frozenAt ?? Number.MAX_SAFE_INTEGER;
}

function inGigabytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

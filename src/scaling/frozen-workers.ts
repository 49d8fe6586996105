import { isCurrent, type Leave, type ScalingInput, type ScalingWorker } from './situation.ts';

/** A frozen worker of any endpoint, as far as the budget for all of them is concerned. */
export interface FrozenWorker {
  id: string;
  isPriority: boolean;
  memoryBytes: number;
  frozenAt: number;
}

/** What an endpoint may not displace: frozen workers of PRIORITY_FLASHBOOT endpoints, unless it is one itself. */
export function reservedBytes(
  flashboot: ScalingInput['endpoint']['flashboot'],
  frozen: readonly FrozenWorker[],
): number {
  if (flashboot === 'PRIORITY_FLASHBOOT') return 0;
  return frozen.reduce((sum, worker) => sum + (worker.isPriority ? worker.memoryBytes : 0), 0);
}

/** Which frozen workers stop so that the rest fits the budget: the oldest first, those of PRIORITY_FLASHBOOT last. */
export function frozenOverBudget(frozen: readonly FrozenWorker[], budgetBytes: number): Leave[] {
  let bytes = frozen.reduce((sum, worker) => sum + worker.memoryBytes, 0);
  const leave: Leave[] = [];
  for (const worker of [...frozen].sort(byEvictionOrder)) {
    if (bytes <= budgetBytes) break;
    bytes -= worker.memoryBytes;
    const reason = `the memory for frozen workers, ${inGigabytes(budgetBytes)}, is needed for others`;
    leave.push({ id: worker.id, reason });
  }
  return leave;
}

/** The order in which frozen workers make room. */
export function byEvictionOrder(
  a: Pick<FrozenWorker, 'isPriority' | 'frozenAt'>,
  b: Pick<FrozenWorker, 'isPriority' | 'frozenAt'>,
): number {
  return Number(a.isPriority) - Number(b.isPriority) || a.frozenAt - b.frozenAt;
}

/**
 * Of the workers that leave because they are idle: who is frozen instead, and who goes. `staying` counts those that work
 * on and those that come: more than `workers.max` in all could never be of use.
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
  for (const { id, reason } of idle) {
    const worker = byId.get(id)!;
    const isFirst = frozen + freeze.length === 0;
    const hindrance =
      worker.state === 'ready'
        ? hindranceToFreeze(input, worker, { roomBytes, isFirst, count: staying + frozen + freeze.length })
        : null;
    if (worker.state !== 'ready') drain.push({ id, reason });
    else if (hindrance !== null) drain.push({ id, reason: `${reason}; not frozen: ${hindrance}` });
    else {
      freeze.push({ id, reason: `${reason}; frozen, to be awake sooner` });
      roomBytes -= worker.memoryBytes;
    }
  }
  return { freeze, drain };
}

/** Null when it may be frozen. PRIORITY_FLASHBOOT keeps one even if it has not worked yet. */
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

/** Frozen workers of an endpoint that are of no use any more. `expected` counts its other workers. */
export function frozenToStop({ endpoint }: ScalingInput, frozen: readonly ScalingWorker[], expected: number): Leave[] {
  const useless = (worker: ScalingWorker): string | null => {
    if (endpoint.max === 0) return 'workers.max allows 0';
    if (endpoint.flashboot === 'OFF') return 'FlashBoot is off';
    return isCurrent(endpoint, worker) ? null : `release ${endpoint.version} replaces release ${worker.version}`;
  };
  const kept = frozen.filter((worker) => useless(worker) === null).sort((a, b) => frozenSince(a) - frozenSince(b));
  const beyond = kept.slice(0, Math.max(0, Math.min(kept.length, kept.length + expected - endpoint.max)));
  return [
    ...frozen.flatMap((worker) => {
      const reason = useless(worker);
      return reason === null ? [] : [{ id: worker.id, reason }];
    }),
    ...beyond.map(({ id }) => ({ id, reason: `workers.max allows ${endpoint.max}` })),
  ];
}

/** Frozen workers that can take up work again: the newest release first, then the one that was frozen last. */
export function thawable({ endpoint, workers }: ScalingInput): ScalingWorker[] {
  if (endpoint.flashboot === 'OFF') return [];
  return workers
    .filter((worker) => worker.state === 'frozen' && isCurrent(endpoint, worker))
    .sort((a, b) => b.version - a.version || frozenSince(b) - frozenSince(a));
}

/** One that is only about to be frozen counts as frozen last. */
function frozenSince(worker: ScalingWorker): number {
  return worker.frozenAt ?? Number.MAX_SAFE_INTEGER;
}

function inGigabytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

import { type Clock, monotonicClock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { FaultyGpu, Gpu, GpuReading, GpuSource } from './gpu.ts';

export interface GpuInventoryOptions {
  source: GpuSource;
  logger: Logger;
  /** Between two checks. Each costs a program or a container, so nothing waits for one but the first. */
  intervalMs?: number;
  monotonic?: Clock;
  /** A reading that detection has made already. */
  first?: GpuReading;
  /** Called when a later reading differs from the previous one. */
  onReading?: (reading: GpuReading) => void;
}

const INTERVAL_MS = 30_000;
/** A GPU that is missing without an error is looked for once more before its workloads are given up. */
const SUSPECT_INTERVAL_MS = 3_000;
const CHECKS_UNTIL_LOST = 2;

interface Known {
  gpu: Gpu;
  /** How many checks in a row did not find it. */
  misses: number;
  /** Why it is out of the pool; null while it answers. */
  fault: string | null;
}

/**
 * The GPUs of a machine, checked again at intervals and after a failed start. One that does not answer is out of the pool
 * from that check on, until it answers again. While nothing can be read at all, no GPU is given away and none counts as
 * lost: a driver that was updated under running programs fails in `nvidia-smi` only.
 */
export class GpuInventory {
  readonly #source: GpuSource;
  readonly #logger: Logger;
  readonly #intervalMs: number;
  readonly #monotonic: Clock;
  readonly #onReading: (reading: GpuReading) => void;
  readonly #known = new Map<string, Known>();
  /** Faults of GPUs that were never seen to work. */
  #neverSeen: readonly string[] = [];
  #unreadable: string | null = null;
  #dueAt = Number.NEGATIVE_INFINITY;
  #last: GpuReading | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: GpuInventoryOptions) {
    const { source, logger, intervalMs = INTERVAL_MS, monotonic = monotonicClock, first } = options;
    this.#source = source;
    this.#logger = logger;
    this.#intervalMs = intervalMs;
    this.#monotonic = monotonic;
    this.#onReading = options.onReading ?? (() => {});
    if (first) this.#accept(first);
  }

  /** Resolves once the GPUs have been read at least once. Later calls wait for nothing. */
  async ready(): Promise<void> {
    this.refresh();
    if (this.#last === undefined) await this.#reading;
  }

  /** Begins a check if one is due. */
  refresh(): void {
    if (this.#reading || this.#monotonic.now() < this.#dueAt) return;
    this.#reading = this.check().finally(() => {
      this.#reading = undefined;
    });
  }

  /** A start failed: the next `refresh` checks. */
  expire(): void {
    this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Those that a workload may be given. */
  usable(): Gpu[] {
    if (this.#unreadable !== null) return [];
    return [...this.#known.values()].flatMap(({ gpu, fault }) => (fault === null ? [gpu] : []));
  }

  /** Why workloads with this GPU must be replaced; null while it answers or may do so again. */
  lossOf(uuid: string): string | null {
    const known = this.#known.get(uuid);
    if (!known || known.fault === null || known.misses < CHECKS_UNTIL_LOST) return null;
    return `${nameOf(known)} ${known.fault}`;
  }

  get hasLosses(): boolean {
    return [...this.#known.values()].some(({ misses }) => misses >= CHECKS_UNTIL_LOST);
  }

  /** The problem, in one sentence without a period; null when every GPU answers. */
  get problem(): string | null {
    if (this.#unreadable !== null) return `the GPUs cannot be read: ${this.#unreadable}`;
    const faulty = [...this.#known.values()].filter(({ fault }) => fault !== null);
    const all = [...faulty.map((known) => `${nameOf(known)} ${known.fault}`), ...this.#neverSeen];
    return all.length === 0 ? null : all.join('; ');
  }

  /** Checks now. */
  async check(): Promise<void> {
    const before = this.problem;
    const last = this.#last;
    this.#accept(await this.#source.read());
    if (JSON.stringify(this.#last) !== JSON.stringify(last)) this.#onReading(this.#last!);
    if (this.problem !== null && this.problem !== before) {
      this.#logger.error({ reason: this.problem }, 'GPUs out of order');
    } else if (this.problem === null && before !== null) this.#logger.info({}, 'all GPUs answer again');
  }

  #accept(reading: GpuReading): void {
    this.#last = reading;
    if (reading.state === 'unreadable') {
      this.#unreadable = `${reading.problem}. ${reading.advice}`;
    } else if (reading.state === 'absent' && this.#known.size > 0) {
      this.#unreadable = 'the tool that lists them is gone'; // programs that have them run on
    } else {
      this.#unreadable = null;
      this.#update(reading.state === 'read' ? reading : { gpus: [], faulty: [] });
    }
    const isSuspect = [...this.#known.values()].some(({ misses }) => misses > 0 && misses < CHECKS_UNTIL_LOST);
    this.#dueAt =
      this.#monotonic.now() + (isSuspect ? Math.min(SUSPECT_INTERVAL_MS, this.#intervalMs) : this.#intervalMs);
  }

  #update({ gpus, faulty, isPartial }: Omit<GpuReading & { state: 'read' }, 'state'>): void {
    for (const gpu of gpus) this.#known.set(gpu.uuid, { gpu, misses: 0, fault: null });
    const here = new Set(gpus.map(({ uuid }) => uuid));
    for (const [uuid, known] of this.#known) {
      if (here.has(uuid)) continue;
      const found = faulty.find((one) => isThe(known.gpu, one));
      if (!found && isPartial) continue;
      const fault = found ? `does not answer: ${found.fault}` : 'is no longer listed by the driver';
      this.#known.set(uuid, { ...known, fault, misses: found ? CHECKS_UNTIL_LOST : known.misses + 1 });
    }
    this.#neverSeen = faulty
      .filter((one) => ![...this.#known.values()].some(({ gpu }) => isThe(gpu, one)))
      .map(({ uuid, busId, fault }) => `GPU ${uuid ?? busId} does not answer: ${fault}`);
  }
}

/** A lost GPU does not say its UUID, and a slice of it is lost with it. */
function isThe(gpu: Gpu, { uuid, busId }: FaultyGpu): boolean {
  return gpu.uuid === uuid || gpu.busId === busId;
}

function nameOf({ gpu }: Known): string {
  return `${gpu.uuid} (${gpu.gpuTypeId})`;
}

/**
 * Networks that are ready before a worker needs one. To set one up takes the engine two thirds of a start, so a few containers
 * that only wait hold one each, and a worker's container joins the network of one of them (docs/decisions/0062-cold-starts.md).
 * A network is used once: what a workload did with it never reaches another one.
 *
 *   created ──► ready ──take──► a worker's ──free──► removed
 *      └ failed   └ close, or its container ended ──────▲
 *
 * Those that a killed process left are found by their label, with no workload in them, and are removed by `tidy`.
 */
import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { Loop, type NextRun } from '../../../core/flow/loop.ts';
import { newId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import { SeldomLog } from '../../../core/seldom-log.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import { holderConfig } from '../containers/container-config.ts';
import { type Containers, stateOf } from '../containers/containers.ts';
import type { EngineMachine } from '../engine/engine-machine.ts';
import { hasHolderProgram, importHolderImage } from '../images/holder-image.ts';
import type { BridgeNetwork } from './bridge-network.ts';
import type { EgressGuard } from './egress-guard.ts';

export interface PreparedNetwork {
  /** Id of the container that holds it. */
  id: string;
  address: string;
}

interface Parts {
  engine: Engine;
  containers: Containers;
  network: BridgeNetwork;
  egress: Pick<EgressGuard, 'ready'>;
  machine: EngineMachine;
  installation: string;
  logger: Logger;
  /** How many to have ready at least; 0: none. */
  count: number;
  clock?: Clock;
}

/** New ones are prepared once no start was in progress for this long, because they compete with starts. */
const QUIET_MS = 1_000;
/** After a burst of starts there are as many as it would have used, up to so many, for so long: bursts come again. */
const MOST_AFTER_BURST = 16;
const AFTER_BURST_MS = 10 * 60_000;
const TICK_MS = 60_000;
const MAX_TAKEN = 10_000;
const ADDRESS_TAKEN = /already (?:in use|allocated)/i;

export class PreparedNetworks {
  readonly #log: SeldomLog;
  readonly #parts: Parts;
  readonly #clock: Clock;
  readonly #loop: Loop;
  #ready: PreparedNetwork[] = [];
  /** The one that is being created. */
  #next: string | null = null;
  /** By workload, of those that this process started. */
  readonly #taken = new BoundedMap<string, string>(MAX_TAKEN);
  readonly #removals = new Set<Promise<void>>();
  #startedAt = Number.NEGATIVE_INFINITY;
  #startsInProgress = 0;
  #takenAt = Number.NEGATIVE_INFINITY;
  /** How many the current or last burst would have used: starts with no quiet between them. */
  #burst = 0;
  /** The largest burst of late, and when it was. */
  #peak = { count: 0, at: Number.NEGATIVE_INFINITY };
  #isActive = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#log = new SeldomLog(parts.logger);
    this.#clock = parts.clock ?? monotonicClock;
    const { logger } = parts;
    this.#loop = new Loop({ name: 'prepare-networks', tickMs: TICK_MS, logger, runOnce: () => this.#run() });
  }

  /** Has some ready from soon on. */
  begin(): void {
    if (this.#isActive || this.#parts.count === 0) return;
    this.#isActive = true;
    this.#startedAt = this.#clock.now();
    this.#loop.start();
  }

  /** Prepares none while this start is in progress. */
  async yieldTo<T>(start: () => Promise<T>): Promise<T> {
    this.#startsInProgress += 1;
    try {
      return await start();
    } finally {
      this.#startsInProgress -= 1;
      this.#startedAt = this.#clock.now();
      this.#loop.wake();
    }
  }

  /** Returns one for a workload to start in; null when none is ready. More are prepared soon after the last call. */
  take(workloadId: string): PreparedNetwork | null {
    this.begin();
    this.#countTake();
    const taken = this.#ready.shift() ?? null;
    if (taken) this.#taken.set(workloadId, taken.id);
    return taken;
  }

  /** Returns the one that a workload is in. */
  async of(workloadId: string): Promise<string | null> {
    const known = this.#taken.get(workloadId);
    return known ?? (await this.#parts.containers.holderOf(workloadId));
  }

  /** Removes one whose workload has ended, while the caller continues. */
  free(workloadId: string, id: string): void {
    this.#taken.delete(workloadId);
    this.#removeSoon(id);
  }

  /** Removes unused ones: of processes that were killed, and of this one if they have ended. */
  async tidy(): Promise<void> {
    const before = new Set(this.#ready);
    const { holders, used } = await this.#parts.containers.listHolders();
    const running = new Set(holders.filter((one) => stateOf(one.container) === 'running').map(({ id }) => id));
    this.#ready = this.#ready.filter((one) => !before.has(one) || running.has(one.id));
    const own = new Set([...this.#ready.map(({ id }) => id), ...this.#taken.values(), this.#next]);
    for (const { id } of holders) if (!own.has(id) && !used.has(id)) this.#removeSoon(id);
  }

  async close(): Promise<void> {
    await this.#loop.stop();
    for (const { id } of this.#ready.splice(0)) this.#removeSoon(id);
    await Promise.all(this.#removals);
    this.#log.close();
  }

  async #run(): Promise<NextRun | undefined> {
    if (this.#startsInProgress > 0) return undefined; // its end wakes this
    const quietInMs = this.#startedAt + QUIET_MS - this.#clock.now();
    if (quietInMs > 0) return { inMs: quietInMs };
    await this.tidy();
    const wanted = this.#wanted();
    for (const { id } of this.#ready.splice(wanted)) this.#removeSoon(id);
    if (this.#ready.length >= wanted) return undefined;
    try {
      return (await this.#prepare()) ? { inMs: 0 } : undefined;
    } catch (error) {
      this.#log.warn({ err: error }, 'no network could be prepared, workers start without');
      return undefined;
    }
  }

  #countTake(): void {
    const now = this.#clock.now();
    this.#burst = now - this.#takenAt < QUIET_MS ? this.#burst + 1 : 1;
    this.#takenAt = now;
    const count = Math.min(this.#burst, MOST_AFTER_BURST);
    if (count >= this.#peak.count || now - this.#peak.at > AFTER_BURST_MS) this.#peak = { count, at: now };
  }

  #wanted(): number {
    const { count } = this.#parts;
    const isLately = this.#clock.now() - this.#peak.at <= AFTER_BURST_MS;
    return isLately ? Math.max(count, this.#peak.count) : count;
  }

  /** False when none can be prepared here. */
  async #prepare(): Promise<boolean> {
    const { network, egress, machine, containers, engine } = this.#parts;
    const { architecture } = await machine.read();
    const address = await network.nextAddress();
    if (address === null || !hasHolderProgram(architecture)) return false;
    await egress.ready();
    const id = newId<string>();
    this.#next = id;
    try {
      const body = holderConfig(id, { installation: this.#parts.installation, network: network.name, address });
      await containers.create(id, body).catch(async (error) => {
        if (!isRefusal(error, 404)) throw error;
        await importHolderImage(engine, architecture);
        await containers.create(id, body);
      });
      await containers.start(id);
      this.#ready.push({ id, address });
      return true;
    } catch (error) {
      await containers.remove(id).catch(() => {});
      if (isRefusal(error, 404, /network/i)) network.forget(); // it was removed: the next one creates it again
      if (error instanceof EngineError && ADDRESS_TAKEN.test(error.message)) return true; // the next has another address
      throw error;
    } finally {
      this.#next = null;
    }
  }

  #removeSoon(id: string): void {
    const removal = this.#parts.containers
      .remove(id)
      .catch((error) => {
        if (!isRefusal(error, 404)) this.#log.warn({ err: error }, 'a prepared network could not be removed');
      })
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }
}

import { monotonicClock } from '../../core/clock.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import {
  listModelOrders,
  type MachineState,
  type ModelOrder,
  writeMachineState,
} from '../../domain/machine-models/machine-model-store.ts';
import { listLiveAmong } from '../../domain/workers/live-workers.ts';
import type { ModelStore } from '../../models/store/model-store.ts';
import { ModelsAhead } from './models-ahead.ts';

const TICK_MS = 30_000;
/** How often progress is written down while something is fetched. */
const FETCHING_MS = 1_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  secretBox: SecretBox;
  modelStore: ModelStore;
}

/**
 * Releases the models of workers that have ended, evicts models that an admin removed or that a disk has no room for, fetches and
 * keeps those that an admin wants to have, and records which are there and how far fetches are.
 */
export function keepModelsLoop({ pool, bus, logger, secretBox, modelStore }: Deps): Loop {
  const wake = () => bus.publish('model', '');
  const ahead = new ModelsAhead({ pool, secretBox, modelStore, logger, onEnd: wake });
  const rates = new FetchRates();
  return new Loop({
    name: 'keep-models',
    tickMs: TICK_MS,
    logger,
    subscribe: (onHint) => [bus.subscribe('model', onHint), () => ahead.stop()],
    runOnce: async () => {
      await modelStore.tidy((ids) => listLiveAmong(pool, ids));
      const orders = await listModelOrders(pool);
      await ahead.follow(orders);
      for (const { id } of orders.filter(({ isUnwanted }) => isUnwanted)) {
        if (await modelStore.remove(id)) logger.info({ modelId: id }, 'model removed');
      }
      const stored = await modelStore.list();
      await keepOrdered(modelStore, stored, orders);
      const fetching = rates.of(modelStore.fetching());
      await writeMachineState(pool, { stored, fetching, room: await modelStore.room() });
      return fetching.length > 0 ? { inMs: FETCHING_MS } : undefined;
    },
  });
}

async function keepOrdered(
  modelStore: ModelStore,
  stored: Awaited<ReturnType<ModelStore['list']>>,
  orders: readonly ModelOrder[],
): Promise<void> {
  const wanted = new Map(orders.map(({ id, isKept }) => [id, isKept]));
  for (const { model, isKept } of stored) {
    const wantsKept = wanted.get(model.id) ?? isKept;
    if (wantsKept !== isKept) await modelStore.keep(model.id, wantsKept);
  }
}

/** Knows how fast fetches are, from how far they were at the run before. */
class FetchRates {
  #before = new Map<string, { bytes: number; at: number; bytesPerSecond: number }>();

  of(fetching: readonly { id: string; bytes: number; totalBytes: number }[]): MachineState['fetching'] {
    const at = monotonicClock.now();
    const rated = fetching.map((one) => {
      const before = this.#before.get(one.id);
      if (!before) return { ...one, at, bytesPerSecond: 0 };
      const ms = at - before.at;
      if (ms < FETCHING_MS / 2) return { ...one, ...before }; // too short to tell
      const bytesPerSecond = Math.max(0, Math.round(((one.bytes - before.bytes) * 1000) / ms));
      return { ...one, at, bytesPerSecond };
    });
    this.#before = new Map(rated.map((one) => [one.id, one]));
    return rated.map(({ at: _, ...one }) => one);
  }
}

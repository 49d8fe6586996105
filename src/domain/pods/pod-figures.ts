import type { Clock } from '../../core/clock.ts';

/** A pod's or worker's current usage, in percent of its limits. */
export interface PodUsage {
  cpuUtil: number;
  memoryUtil: number;
  /** One entry per GPU. */
  gpus: readonly { util: number; memoryUtil: number }[];
}

/** Live usage of running pods and workers, by their ids. */
export interface PodFigures {
  /** Returns usage by id. What is not known within `timeoutMs` is missing, and there in a later call. Never throws. */
  read(podIds: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, PodUsage>>;
}

/** Timeouts for reading one pod or a list: a list does not wait for the runtime. */
export const READ_TIMEOUT_MS = { one: 1_500, list: 50 } as const;

const TTL_MS = 1_000;
/** Concurrent requests to the runtime: a list of a hundred pods must not block the engine. */
const MAX_IN_FLIGHT = 8;
/** Usage that was not read for this long is dropped. */
const KEEP_MS = 60_000;

interface Entry {
  usage: PodUsage | null;
  readAt: number;
  reading: Promise<void> | undefined;
}

/**
 * Creates a reader that asks the runtime about a pod at most once per second, for all clients. The runtime takes up to a few
 * seconds, and meanwhile the previous usage is returned.
 */
export function createPodFigures(options: {
  clock: Clock;
  readUsage: (podId: string) => Promise<PodUsage | null>;
}): PodFigures {
  const entries = new Map<string, Entry>();
  const waiting: (() => void)[] = [];
  let asking = 0;
  const ask = async (id: string): Promise<PodUsage | null> => {
    if (asking === MAX_IN_FLIGHT) await new Promise<void>((resolve) => waiting.push(resolve));
    else asking += 1;
    try {
      return await options.readUsage(id);
    } catch {
      return null; // the pod has just ended, or the engine is unreachable
    } finally {
      const next = waiting.shift();
      if (next) next();
      else asking -= 1;
    }
  };
  const refresh = (id: string, now: number): Entry => {
    const entry = entries.get(id) ?? { usage: null, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    entries.set(id, entry);
    if (entry.reading || Math.abs(now - entry.readAt) < TTL_MS) return entry;
    entry.reading = ask(id).then((usage) => {
      Object.assign(entry, { usage, readAt: options.clock.now(), reading: undefined });
    });
    return entry;
  };
  return {
    read: async (podIds, timeoutMs) => {
      const now = options.clock.now();
      for (const [id, { readAt, reading }] of entries)
        if (!reading && Math.abs(now - readAt) > KEEP_MS) entries.delete(id);
      const wanted = podIds.map((id) => [id, refresh(id, now)] as const);
      const unknown = wanted.flatMap(([, { usage, reading }]) => (usage === null && reading ? [reading] : []));
      if (unknown.length > 0) await atMost(timeoutMs, Promise.all(unknown));
      return new Map(wanted.flatMap(([id, { usage }]) => (usage ? [[id, usage] as const] : [])));
    },
  };
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}

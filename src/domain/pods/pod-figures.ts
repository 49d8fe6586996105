import type { Clock } from '../../core/clock.ts';

/** What a pod uses at this moment, in percent of what it may use. */
export interface PodUsage {
  cpuUtil: number;
  memoryUtil: number;
  /** One for each GPU it holds. */
  gpus: readonly { util: number; memoryUtil: number }[];
}

/** Live figures of pods that run. */
export interface PodFigures {
  /** By pod id; what is not known within `timeoutMs` is absent, and known to a later call. Never throws. */
  read(podIds: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, PodUsage>>;
}

/** A reader's patience: one pod may be waited for, a list never. */
export const READ_TIMEOUT_MS = { one: 1_500, list: 50 } as const;

const TTL_MS = 1_000;
/** So many questions at a time, or a list of a hundred pods would keep the engine from everything else. */
const AT_ONCE = 8;
/** Nobody asked about it for so long: it is forgotten. */
const KEEP_MS = 60_000;

interface Entry {
  usage: PodUsage | null;
  readAt: number;
  reading: Promise<void> | undefined;
}

/**
 * Asks the runtime about a pod at most once a second, however many clients ask; an answer takes the runtime up to a few
 * seconds, so meanwhile the one before is given.
 */
export function createPodFigures(options: {
  clock: Clock;
  readUsage: (podId: string) => Promise<PodUsage | null>;
}): PodFigures {
  const entries = new Map<string, Entry>();
  const waiting: (() => void)[] = [];
  let asking = 0;
  const ask = async (id: string): Promise<PodUsage | null> => {
    if (asking === AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
    else asking += 1;
    try {
      return await options.readUsage(id);
    } catch {
      return null; // the pod has just ended, or the engine is away
    } finally {
      const next = waiting.shift();
      if (next) next();
      else asking -= 1;
    }
  };
  const refresh = (id: string, now: number): Entry => {
    const entry = entries.get(id) ?? { usage: null, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    entries.set(id, entry);
    if (entry.reading || now - entry.readAt < TTL_MS) return entry;
    entry.reading = ask(id).then((usage) => {
      Object.assign(entry, { usage, readAt: options.clock.now(), reading: undefined });
    });
    return entry;
  };
  return {
    read: async (podIds, timeoutMs) => {
      const now = options.clock.now();
      for (const [id, { readAt, reading }] of entries) if (!reading && now - readAt > KEEP_MS) entries.delete(id);
      const wanted = podIds.map((id) => [id, refresh(id, now)] as const);
      const unknown = wanted.flatMap(([, { usage, reading }]) => (usage === null && reading ? [reading] : []));
      if (unknown.length > 0) await atMost(timeoutMs, Promise.all(unknown));
      return new Map(wanted.flatMap(([id, { usage }]) => (usage ? [[id, usage] as const] : [])));
    },
  };
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}

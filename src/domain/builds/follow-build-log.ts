import type { BuildId } from '../../core/ids.ts';
import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import type { BuildLine, BuildStatus } from './build.ts';

const BATCH = 500;

export interface BuildLogBatch {
  /** Empty: nothing came for `quietMs`. */
  lines: BuildLine[];
  /** Set in the last batch. */
  ended: EndedBuild | null;
}

/** How a build ended. */
export interface EndedBuild {
  status: BuildStatus;
  image: string | null;
}

/**
 * Yields the lines of a build after number `after`, then new ones as they are stored, until the build has ended and all of them
 * were read, or `signal` aborts. Reads only as fast as its consumer. A lost hint delays lines by `quietMs` at most.
 */
export async function* followBuildLog(
  { db, bus }: { db: Db; bus: Pick<Bus, 'subscribe'> },
  { id, after, quietMs, signal }: { id: BuildId; after: number; quietMs: number; signal: AbortSignal },
): AsyncGenerator<BuildLogBatch> {
  let ring = Promise.withResolvers<void>();
  const wake = () => ring.resolve();
  const onChange = (changed: string) => {
    if (changed === id) wake();
  };
  const unsubscribes = [bus.subscribe('build', onChange), bus.subscribe('buildOutput', onChange)];
  signal.addEventListener('abort', wake);
  try {
    for (let position = after; !signal.aborted; ) {
      ring = Promise.withResolvers<void>();
      const ended = await readEnd(db, id); // before the lines: all of an ended build's are stored
      const lines = await readLines(db, id, position);
      position = lines.at(-1)?.number ?? position;
      const isAll = lines.length < BATCH;
      if (ended !== null && isAll) return yield { lines, ended };
      if (lines.length > 0) yield { lines, ended: null };
      else if (!(await isRung(ring.promise, quietMs))) yield { lines: [], ended: null };
    }
  } finally {
    for (const unsubscribe of unsubscribes) unsubscribe();
    signal.removeEventListener('abort', wake);
  }
}

/** False after `timeoutMs`. */
async function isRung(ring: Promise<void>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  return Promise.race([ring.then(() => true), late]).finally(() => clearTimeout(timer));
}

/** Returns how a build ended; null: it has not. One that is gone counts as ended. */
async function readEnd(db: Db, id: BuildId): Promise<EndedBuild | null> {
  const { rows } = await db.query<EndedBuild & { isEnded: boolean }>({
    name: 'build-end',
    text: 'select status, image, ended_at is not null as "isEnded" from builds where id = $1',
    values: [id],
  });
  const { isEnded, ...end } = rows[0] ?? { isEnded: true, status: 'CANCELLED', image: null };
  return isEnded ? end : null;
}

async function readLines(db: Db, id: BuildId, after: number): Promise<BuildLine[]> {
  const { rows } = await db.query<BuildLine>({
    name: 'build-lines',
    text: `select l.number, l.at, s.name as step, l.stream, l.text
           from build_lines l left join build_steps s on s.build_id = l.build_id and s.step = l.step
           where l.build_id = $1 and l.number > $2 order by l.number limit ${BATCH}`,
    values: [id, after],
  });
  return rows;
}

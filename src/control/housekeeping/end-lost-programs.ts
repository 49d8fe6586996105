import { monotonicClock } from '../../core/clock.ts';
import { Failure, messageOf } from '../../core/errors.ts';
import { Loop } from '../../core/flow/loop.ts';
import { withTimeout } from '../../core/flow/with-timeout.ts';
import type { TerminalId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import { type LostSession, listLostSessions, updateSessionLost } from '../../domain/terminals/terminal-store.ts';
import { guardRequest } from '../../runtimes/program-guard.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

const TICK_MS = 60_000;
/** A process whose connection was cut needs less to connect again. */
const LOST_MS = 10_000;
const END_TIMEOUT_MS = 15_000;

interface Deps {
  pool: Db;
  bus: Pick<Bus, 'onPeers'>;
  logger: Logger;
  runtime: Pick<Runtime, 'exec'>;
}

/**
 * Ends the programs of terminal sessions whose server process is gone. Usually their guards have done so (program-guard.ts);
 * this is for those whose guard was lost as well, and records the end of the sessions.
 */
export function lostProgramLoop(deps: Deps): Loop {
  const { pool, bus, logger } = deps;
  /** Since when each session is seen to be lost. */
  let lostSince = new Map<TerminalId, number>();
  return new Loop({
    name: 'lost-programs',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => [bus.onPeers(wake)],
    runOnce: async () => {
      const lost = await listLostSessions(pool);
      const now = monotonicClock.now();
      lostSince = new Map(lost.map(({ id }) => [id, lostSince.get(id) ?? now]));
      const due = lost.filter(({ id }) => now - lostSince.get(id)! >= LOST_MS);
      await Promise.all(due.map((session) => endSession(deps, session)));
      return lost.length > due.length ? { inMs: LOST_MS } : undefined;
    },
  });
}

async function endSession(deps: Deps, { id, workloadId }: LostSession): Promise<void> {
  const { pool, logger } = deps;
  try {
    await endProgram(deps, workloadId, id);
  } catch (error) {
    const isGone = error instanceof Failure && (error.kind === 'notFound' || error.kind === 'conflict');
    if (!isGone) {
      const fields = { terminalId: id, workloadId, err: error };
      logger.warn(fields, `the program of a lost session could not be ended: ${messageOf(error)}`);
      return; // the next tick tries again
    }
  }
  await updateSessionLost(pool, id);
  logger.info({ terminalId: id, workloadId }, 'ended the program of a lost session');
}

async function endProgram({ runtime }: Deps, workloadId: string, marker: string): Promise<void> {
  const program = await runtime.exec(workloadId, guardRequest(marker, { hasInput: false }));
  program.output.resume();
  program.errors?.resume();
  const late = () => new Failure('unavailable', `it did not end within ${END_TIMEOUT_MS / 1000} s`);
  await withTimeout(program.exitCode, END_TIMEOUT_MS, late).finally(() => program.end());
}

import { setImmediate as nextTurn } from 'node:timers/promises';

/** A few milliseconds of work. */
const ROUTES_PER_TURN = 5;

/** Adds routes one after another. Yields between them: requests are served while a second app is built. */
export async function addInTurns(addRoutes: Iterable<() => void>): Promise<void> {
  let added = 0;
  for (const addRoute of addRoutes) {
    addRoute();
    if (++added % ROUTES_PER_TURN === 0) await nextTurn();
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Adds the routes of one resource after another. Yields between them: requests are served while a second app is built. */
export async function addInTurns(addRoutes: Iterable<() => void>): Promise<void> {
  for (const addRoute of addRoutes) {
    addRoute();
    await nextTurn();
  }
}

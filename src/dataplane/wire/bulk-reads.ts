/** Passing on a full read takes a tenth of a millisecond, so that these take about one. */
const MAX_IN_A_TURN = 8;

/** A connection from which a large piece was read. */
export interface BulkReader {
  /** Reads the next one. */
  readOn(): void;
}

/** Those that wait, first in, first out. */
let waiting: BulkReader[] = [];
let readsInTurn = 0;
let isArmed = false;

/**
 * Counts a large read. Returns false once a turn of the event loop has had many: then nothing more is to be read of the
 * connection until `readOn`, in a later turn. Otherwise a hundred connections that carry large bodies at full speed would be read
 * one after the other while everything else waits.
 */
export function mayReadOn(reader: BulkReader): boolean {
  readsInTurn += 1;
  if (!isArmed) {
    isArmed = true;
    setImmediate(endTurn);
  }
  if (waiting.length === 0 && readsInTurn <= MAX_IN_A_TURN) return true;
  waiting.push(reader);
  return false;
}

function endTurn(): void {
  readsInTurn = 0;
  const ready = waiting.slice(0, MAX_IN_A_TURN);
  waiting = waiting.slice(MAX_IN_A_TURN);
  isArmed = waiting.length > 0;
  if (isArmed) setImmediate(endTurn);
  for (const reader of ready) reader.readOn();
}

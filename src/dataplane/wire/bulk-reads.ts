import { TurnLimit } from '../../core/flow/turn-limit.ts';

/** Passing on a full read takes a tenth of a millisecond, so that these take about one. */
const MAX_IN_A_TURN = 8;

/** A connection from which a large piece was read. */
export interface BulkReader {
  /** Reads the next one. */
  readOn(): void;
}

const reads = new TurnLimit<BulkReader>(MAX_IN_A_TURN, (reader) => reader.readOn());

/**
 * Counts a large read. Returns false once a turn of the event loop has had many: then nothing more is to be read of the
 * connection until `readOn`, in a later turn. Otherwise a hundred connections that carry large bodies at full speed would be read
 * one after the other while everything else waits.
 */
export function mayReadOn(reader: BulkReader): boolean {
  return reads.enter(reader);
}

import { Failure } from '../../core/errors.ts';
import { Semaphore } from '../../core/flow/semaphore.ts';
import { READER_CHECK_MS, READER_MIN_BYTES, takenBytes } from '../../core/flow/taken-bytes.ts';
import type { UserId } from '../../core/ids.ts';
import type { CallResponse } from '../call-messages.ts';
import { ByteBudget, type ByteReservation } from './byte-budget.ts';

/** Memory that a payload takes until its client has it, in multiples of its size: as read, as rendered, and as sent. */
const COST = 3;
const MAX_WAITING = 1_000;
const TIMEOUT_MS = 10_000;
/** Large payloads that are read from the database at once: small statements would wait behind more. */
const MAX_READING = 2;

const EVENTS = ['drain', 'finish', 'close'] as const;

/** The memory that large payloads on their way to clients may take together, shared fairly between users. */
export class AnswerBudget {
  readonly #budget: ByteBudget;
  readonly #reading = new Semaphore(MAX_READING);

  constructor(limitBytes: number) {
    this.#budget = new ByteBudget({ limitBytes, maxWaiting: MAX_WAITING, timeoutMs: TIMEOUT_MS, refusal });
  }

  /**
   * Waits for room for a payload, then calls `send`, and holds the memory until the response is sent. A reader that is too slow is
   * disconnected, immediately if other users wait for the memory. Rejects with `unavailable` if there is no room in time.
   */
  async hold(
    res: CallResponse,
    { bytes, userId }: { bytes: number; userId: UserId },
    send: () => Promise<void> | void,
  ): Promise<void> {
    const { granted, cancel } = this.#budget.reserve(bytes * COST, userId);
    res.once('close', cancel);
    const reservation = await granted.finally(() => res.off('close', cancel));
    try {
      const next = await this.#reading.acquire();
      try {
        if (!res.destroyed) await send();
      } finally {
        next();
      }
      await flushed(res, reservation);
    } finally {
      reservation.release();
    }
  }
}

/** Resolves when more may be written, or after the end when all has left this process, or the connection is gone. */
export function flushed(res: CallResponse, reservation: ByteReservation | null = null): Promise<void> {
  const { socket } = res;
  const isPending = res.writableEnded ? !res.writableFinished : res.writableNeedDrain;
  if (res.destroyed || socket === null || !isPending) return Promise.resolve();
  return new Promise((resolve) => {
    let before = takenBytes(socket);
    const checking = setInterval(() => {
      const taken = takenBytes(socket);
      if (taken - before < Math.min(READER_MIN_BYTES, res.writableLength)) res.destroy();
      before = taken;
    }, READER_CHECK_MS).unref();
    const done = () => {
      clearInterval(checking);
      if (reservation) reservation.onYield = null;
      for (const event of EVENTS) res.off(event, done);
      resolve();
    };
    if (reservation) reservation.onYield = () => res.destroy();
    for (const event of EVENTS) res.once(event, done);
  });
}

function refusal(): Failure {
  return new Failure('unavailable', 'the server is sending as many large results as it has memory for; try again', {
    retryAfterSeconds: 5,
  });
}

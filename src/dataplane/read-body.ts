import { Failure } from '../core/errors.ts';
import type { UserId } from '../core/ids.ts';
import type { CallRequest, CallResponse } from '../http/call-messages.ts';
import type { ByteReservation } from '../http/floods/byte-budget.ts';
import { slowBody } from '../http/floods/slow-bodies.ts';
import { type BodyBudget, SMALL_BYTES, yieldedBody } from './body-budget.ts';

/** How long the rest of a refused body is read and dropped before the connection is cut. */
const DRAIN_MS = 60_000;

/** A large body that does not grow for this long gives up its memory. */
const STALL_MS = 30_000;

/** Where a body comes from and what it may take. */
export interface BodySource {
  req: CallRequest;
  res: CallResponse;
  budget: BodyBudget;
  /** The user charged for the memory. */
  userId: UserId;
  limitBytes: number;
  /** A body over this size cuts the connection. One over the limit is otherwise read to its end and dropped. */
  cutBytes?: number;
  tooLarge: (limitBytes: number) => Failure;
}

/**
 * Reads the whole body and calls `use` with it. Its memory is reserved before the first byte is read and until `use`
 * settles. A request without room waits unread, so that its socket pushes back, and fails with `unavailable`
 * when there is none in time. Throws `tooLarge` without reading when the announced size is over the limit.
 */
export async function withBody<T>(
  source: BodySource,
  use: (body: Buffer, reservation: ByteReservation) => Promise<T>,
): Promise<T> {
  const { req, budget, userId, limitBytes } = source;
  const announced = announcedBytes(req);
  if (announced !== undefined && announced > limitBytes) throw refuseUnread(source, announced);
  const bytes = announced ?? limitBytes;
  const reservation = budget.tryReserve(bytes, userId) ?? (await waitForRoom(source, bytes));
  try {
    const body = await readBody(source, announced, reservation);
    if (announced === undefined) budget.correct(reservation, body.length);
    return await use(body, reservation);
  } finally {
    reservation.release();
  }
}

/** Reads and drops what is left of a body, for at most DRAIN_MS, and then calls `onDrained`. */
export function drainBody(req: CallRequest, onDrained: () => void = () => {}): void {
  if (!hasRest(req)) {
    onDrained();
    return;
  }
  const timer = setTimeout(() => req.destroy(), DRAIN_MS).unref();
  req.once('close', () => {
    clearTimeout(timer);
    onDrained();
  });
  req.resume();
}

/** True while a part of the body has not been read. */
export function hasRest(req: CallRequest): boolean {
  return !req.complete && !req.destroyed && announcedBytes(req) !== 0;
}

function refuseUnread(
  { req, limitBytes, cutBytes = Number.POSITIVE_INFINITY, tooLarge }: BodySource,
  announced: number,
): Failure {
  if (announced > cutBytes) req.destroy();
  return tooLarge(limitBytes);
}

/** Undefined for a chunked body. */
function announcedBytes({ headers }: CallRequest): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

/** Waits for memory while the request is there; rejects with `unavailable`. */
export async function waitForRoom(
  { res, budget, userId }: Pick<BodySource, 'res' | 'budget' | 'userId'>,
  bytes: number,
): Promise<ByteReservation> {
  const { granted, cancel } = budget.reserve(bytes, userId);
  res.once('close', cancel);
  try {
    const reservation = await granted;
    if (!res.destroyed) return reservation;
    reservation.release();
    throw closedEarly();
  } catch (error) {
    throw res.destroyed ? closedEarly(error) : error;
  } finally {
    res.off('close', cancel);
  }
}

/** Reads a body that is small enough to need no reservation. Throws `tooLarge`, and `badRequest` if the client leaves. */
export async function readSmallBody(source: Pick<BodySource, 'req' | 'limitBytes' | 'tooLarge'>): Promise<Buffer> {
  const announced = announcedBytes(source.req);
  if (announced !== undefined && announced > source.limitBytes) throw source.tooLarge(source.limitBytes);
  return readBody(source, announced, null);
}

/** Keeps nothing of a body that turns out to be over the limit: the rest is read and dropped. */
function readBody(
  {
    req,
    limitBytes,
    cutBytes = Number.POSITIVE_INFINITY,
    tooLarge,
  }: Pick<BodySource, 'req' | 'limitBytes' | 'cutBytes' | 'tooLarge'>,
  announced: number | undefined,
  reservation: Pick<ByteReservation, 'onYield'> | null,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (req.destroyed) return reject(closedEarly());
    let body: BodyBuffer | null = new BodyBuffer(announced);
    const giveUp = (why: Failure) => {
      body = null; // the rest is dropped
      reject(why);
    };
    const onYield = () => giveUp(yieldedBody());
    if (reservation) reservation.onYield = onYield; // a function written here would be born old (docs/decisions/0059-requests-that-stay-young.md)
    const isSmall = announced !== undefined && announced <= SMALL_BYTES;
    const stall = isSmall ? undefined : setTimeout(() => giveUp(slowBody()), STALL_MS).unref();
    req.on('data', (chunk: Buffer) => {
      stall?.refresh();
      if (body === null) return;
      body.add(chunk, limitBytes);
      if (body.size <= limitBytes) return;
      reject(tooLarge(limitBytes));
      if (body.size > cutBytes) req.destroy();
    });
    req.on('end', () => {
      if (reservation) reservation.onYield = null;
      if (body) resolve(body.take());
    });
    req.on('close', () => {
      clearTimeout(stall);
      if (reservation) reservation.onYield = null;
      if (!req.readableEnded) reject(closedEarly());
    });
    req.resume();
  });
}

/** A large body of known size is written to one buffer as it arrives, so that it is in memory once. */
class BodyBuffer {
  size = 0;
  readonly #whole: Buffer | undefined;
  #chunks: Buffer[] = [];

  constructor(announced: number | undefined) {
    if (announced !== undefined && announced > SMALL_BYTES) this.#whole = Buffer.allocUnsafeSlow(announced);
  }

  add(chunk: Buffer, limitBytes: number): void {
    if (this.#whole) chunk.copy(this.#whole, this.size);
    else if (this.size + chunk.length <= limitBytes) this.#chunks.push(Buffer.from(chunk));
    else this.#chunks = [];
    this.size += chunk.length;
  }

  take(): Buffer {
    return this.#whole ?? (this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks));
  }
}

/** For a request whose connection closed before its body was complete. */
export function closedEarly(cause?: unknown): Failure {
  return new Failure('badRequest', 'the connection was closed before the request was complete', { cause });
}

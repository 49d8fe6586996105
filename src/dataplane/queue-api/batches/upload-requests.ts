import { setImmediate } from 'node:timers/promises';
import type { ByteReservation } from '../../../core/byte-budget.ts';
import { Failure } from '../../../core/errors.ts';
import type { UserId } from '../../../core/ids.ts';
import { appendRequests, type NewRequest, type Portion } from '../../../domain/batches/append-requests.ts';
import { type BatchId, MAX_REJECTIONS, type Rejection } from '../../../domain/batches/batch.ts';
import { parseJobBody } from '../../../domain/jobs/job-body.ts';
import { type BodyBudget, yieldedBody } from '../../body-budget.ts';
import type { QueueCall } from '../queue-call.ts';
import { type Piece, RequestSplitter } from './split-requests.ts';

/** Of a portion, which is one statement: its bytes, and its lines, whose parsing takes about two milliseconds. */
const PORTION_BYTES = 256 * 1024;
const PORTION_LINES = 500;
/** Lines that are parsed before other requests of this process get a turn: less than a millisecond. */
const LINES_AT_ONCE = 64;
/** After so many portions the memory is given back for a moment, so that other users get their turns. */
const PORTIONS_A_TURN = 8;

/** What became of an upload. */
export interface UploadResult {
  accepted: number;
  rejected: number;
  /** The first ones. Lines count from the first that the batch received. */
  rejections: Rejection[];
  /** Lines that the batch had received before. */
  skipped: number;
  /** The batch's requests and lines afterwards. */
  requestTotal: number;
  linesReceived: number;
}

export interface Upload {
  id: BatchId;
  source: AsyncIterable<Buffer>;
  isLines: boolean;
  /** Where the batch stands. */
  received: number;
  accepted: number;
  /** The line of the batch that the upload begins with, from 0: those that it has are skipped. Null: it continues the batch. */
  offset: number | null;
}

/**
 * Adds requests to a batch as they arrive, portion by portion, each in a commit of its own. Memory for a portion is reserved
 * before it is read and given back when it is committed; meanwhile the source is not read, so that its socket pushes back. What
 * was committed stays if the upload breaks off: the client repeats it with an offset.
 */
export async function uploadRequests(call: QueueCall, upload: Upload): Promise<UploadResult> {
  const { received, offset } = upload;
  if (offset !== null && offset > received) {
    throw new Failure(
      'conflict',
      `offset: the batch has received ${received} lines, so an upload cannot begin at ${offset}`,
    );
  }
  const limitBytes = lineLimit(call);
  const splitter = new RequestSplitter({ limitBytes, isLines: upload.isLines });
  const memory = new UploadMemory(call.plane.bodies, call.actor.userId);
  const writer = new PortionWriter(call, upload, limitBytes);
  const chunks = upload.source[Symbol.asyncIterator]();
  try {
    for (;;) {
      await memory.hold(2 * PORTION_BYTES + splitter.pendingBytes); // one is read while another is committed
      const chunk = await memory.orYield(chunks.next());
      const pieces = chunk.done ? splitter.end() : splitter.push(chunk.value);
      for (const [i, piece] of pieces.entries()) {
        writer.add(piece);
        if (writer.isFull) await writer.flush();
        if (i % LINES_AT_ONCE === LINES_AT_ONCE - 1) await setImmediate();
      }
      if (chunk.done) break;
      if (writer.isTurnOver) {
        await writer.settle();
        memory.release();
      }
    }
    await writer.flush();
    await writer.settle();
    return writer.result;
  } finally {
    await writer.settle().catch(() => {}); // the first failure is thrown already
    memory.release();
    void chunks.return?.();
  }
}

/** A request may be as large as one of /run, and must fit into the user's limits by itself. */
function lineLimit({ plane, endpoint }: QueueCall): number {
  const { requestBytes, queuedBytes } = endpoint.user.limits;
  const all = [plane.limits.runBodyBytes, requestBytes, queuedBytes];
  return Math.min(...all.filter((limit) => limit !== null));
}

/** Collects requests and commits them. */
class PortionWriter {
  readonly result: UploadResult;
  readonly #call: QueueCall;
  readonly #id: BatchId;
  readonly #limitBytes: number;
  #toSkip: number;
  /** The lines that the batch must have; null: any number. */
  #expected: number | null;
  #lines = 0;
  #bytes = 0;
  #requests: NewRequest[] = [];
  #rejections: Rejection[] = [];
  #committing: Promise<void> = Promise.resolve();
  #portions = 0;

  constructor(call: QueueCall, { id, received, accepted, offset }: Upload, limitBytes: number) {
    this.#call = call;
    this.#id = id;
    this.#limitBytes = limitBytes;
    this.#toSkip = offset === null ? 0 : received - offset;
    this.#expected = offset === null ? null : received;
    const now = { requestTotal: accepted, linesReceived: received };
    this.result = { accepted: 0, rejected: 0, rejections: [], skipped: 0, ...now };
  }

  get isFull(): boolean {
    return this.#lines >= PORTION_LINES || this.#bytes >= PORTION_BYTES;
  }

  /** True when the memory should be given back for a moment. */
  get isTurnOver(): boolean {
    return this.#portions >= PORTIONS_A_TURN;
  }

  add(piece: Piece): void {
    if (this.#toSkip > 0) {
      this.#toSkip -= 1;
      this.result.skipped += 1;
      return;
    }
    const at = this.#lines++;
    if (piece === null) return;
    try {
      if (piece === 'tooLong') throw new Failure('badRequest', `is larger than the limit of ${this.#limitBytes} bytes`);
      this.#requests.push(parseRequest(piece, at));
      this.#bytes += piece.length;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#rejections.push({ line: at, reason: reasonOf(error) });
    }
  }

  /** Begins to commit what was collected, once the portion before is committed; rejects if that failed. */
  async flush(): Promise<void> {
    if (this.#lines === 0) return;
    const portion: Portion = { lines: this.#lines, requests: this.#requests, rejections: this.#rejections };
    [this.#lines, this.#bytes, this.#requests, this.#rejections] = [0, 0, [], []];
    await this.#committing;
    this.#portions += 1;
    this.#committing = this.#commit(portion);
    this.#committing.catch(() => {}); // whoever waits for it sees the failure
  }

  /** Resolves when everything flushed is committed. */
  async settle(): Promise<void> {
    await this.#committing;
    this.#portions = 0;
  }

  async #commit(portion: Portion): Promise<void> {
    const { received, accepted } = await appendRequests(this.#call.plane.pool, this.#id, portion, this.#expected);
    if (this.#expected !== null) this.#expected = received;
    const { result } = this;
    result.accepted += portion.requests.length;
    result.rejected += portion.rejections.length;
    for (const { line, reason } of portion.rejections.slice(0, MAX_REJECTIONS - result.rejections.length)) {
      result.rejections.push({ line: received - portion.lines + line + 1, reason });
    }
    result.requestTotal = accepted;
    result.linesReceived = received;
  }
}

function parseRequest(piece: Buffer, at: number): NewRequest {
  const { input, extras, webhook, executionTimeoutMs, ttlMs, hasOwnTtl } = parseJobBody(piece);
  const bytes = Buffer.byteLength(input) + Buffer.byteLength(extras ?? '');
  return { at, input, extras, webhook, executionTimeoutMs, ttlMs: hasOwnTtl ? ttlMs : null, bytes };
}

/** The parser speaks of a request body, which here is a line. */
function reasonOf({ message }: Failure): string {
  return message.replace(/^the request body /, '').replace(/^The job is not valid: /, '');
}

/** The part of the budget for request bodies that an upload has. */
class UploadMemory {
  readonly #budget: BodyBudget;
  readonly #userId: UserId;
  #held: ByteReservation[] = [];
  #bytes = 0;

  constructor(budget: BodyBudget, userId: UserId) {
    this.#budget = budget;
    this.#userId = userId;
  }

  /** Waits until this much is reserved; rejects with `unavailable`. */
  async hold(bytes: number): Promise<void> {
    const more = bytes - this.#bytes;
    if (more <= 0) return;
    const reservation =
      this.#budget.tryReserve(more, this.#userId) ?? (await this.#budget.reserve(more, this.#userId).granted);
    this.#held.push(reservation);
    this.#bytes += more;
  }

  /** Waits for the client; rejects with `unavailable` when others have waited too long for the memory. */
  async orYield<T>(next: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    for (const reservation of this.#held) reservation.onYield = () => reject(yieldedBody());
    try {
      return await Promise.race([next, promise]);
    } finally {
      for (const reservation of this.#held) reservation.onYield = null;
    }
  }

  release(): void {
    for (const reservation of this.#held) reservation.release();
    this.#held = [];
    this.#bytes = 0;
  }
}

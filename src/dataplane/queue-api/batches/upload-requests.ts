import { setImmediate } from 'node:timers/promises';
import type { ByteReservation } from '../../../core/byte-budget.ts';
import { Failure } from '../../../core/errors.ts';
import type { UserId } from '../../../core/ids.ts';
import { appendRequests, type NewRequest, type Portion } from '../../../domain/batches/append-requests.ts';
import { type BatchId, MAX_REJECTIONS, type Rejection } from '../../../domain/batches/batch.ts';
import { parseJobBody, parseJson } from '../../../domain/jobs/job-body.ts';
import type { WebhookPolicy } from '../../../domain/jobs/webhook-policy.ts';
import { type BodyBudget, yieldedBody } from '../../body-budget.ts';
import type { QueueCall } from '../queue-call.ts';
import { type Piece, RequestSplitter } from './split-requests.ts';

/** Of a portion, which is one statement. Twice as much doubles the time that the garbage collector stops this process. */
const PORTION_BYTES = 64 * 1024;
const PORTION_LINES = 250;
/** Lines that are parsed before other requests of this process get a turn: less than a millisecond. */
const LINES_AT_ONCE = 64;

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
 * Adds requests to a batch as they arrive, portion by portion, each in a commit of its own and at the pace that leaves room
 * for interactive requests. Memory for a portion is reserved before it is read and given back when it is committed; meanwhile
 * the source is not read, so that its socket pushes back. What was committed stays if the upload breaks off: the client
 * repeats it with an offset.
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
      await memory.hold(PORTION_BYTES + splitter.pendingBytes);
      const chunk = await memory.orYield(chunks.next());
      const pieces = chunk.done ? splitter.end() : splitter.push(chunk.value);
      for (const piece of pieces) {
        writer.add(piece);
        if (!writer.isFull) continue;
        await writer.flush();
        memory.release();
        await memory.hold(PORTION_BYTES + splitter.pendingBytes);
      }
      if (chunk.done) break;
    }
    await writer.flush();
    return writer.result;
  } finally {
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

/** Collects lines and stores them in portions. */
class PortionWriter {
  readonly result: UploadResult;
  readonly #call: QueueCall;
  readonly #id: BatchId;
  readonly #limitBytes: number;
  #toSkip: number;
  /** The lines that the batch must have; null: any number. */
  #expected: number | null;
  #pieces: Piece[] = [];
  #bytes = 0;

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
    return this.#pieces.length >= PORTION_LINES || this.#bytes >= PORTION_BYTES;
  }

  add(piece: Piece): void {
    if (this.#toSkip > 0) {
      this.#toSkip -= 1;
      this.result.skipped += 1;
      return;
    }
    this.#pieces.push(piece);
    this.#bytes += Buffer.isBuffer(piece) ? piece.length : 0;
  }

  /** Parses and commits what was collected, when it is this upload's turn. */
  async flush(): Promise<void> {
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    [this.#pieces, this.#bytes] = [[], 0];
    await this.#call.plane.uploadPace.run(async () => this.#commit(await this.#parse(pieces)));
  }

  async #parse(pieces: readonly Piece[]): Promise<Portion> {
    const requests: NewRequest[] = [];
    const rejections: Rejection[] = [];
    for (const [line, piece] of pieces.entries()) {
      if (line % LINES_AT_ONCE === LINES_AT_ONCE - 1) await setImmediate();
      if (piece === null) continue;
      try {
        if (piece === 'tooLong')
          throw new Failure('badRequest', `is larger than the limit of ${this.#limitBytes} bytes`);
        requests.push(parseRequest(piece, line, this.#call.plane.webhooks));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        rejections.push({ line, reason: reasonOf(error) });
      }
    }
    return { lines: pieces.length, requests, rejections };
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

function parseRequest(piece: Buffer, at: number, webhooks: WebhookPolicy): NewRequest {
  const { input, extras, webhook, executionTimeoutMs, ttlMs, hasOwnTtl } = parseJobBody(parseJson(piece), webhooks);
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

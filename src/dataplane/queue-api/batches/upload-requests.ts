import { setImmediate } from 'node:timers/promises';
import { Failure } from '../../../core/errors.ts';
import { takeTurn } from '../../../core/flow/turns.ts';
import { appendRequests, type NewRequest, type Portion } from '../../../domain/batches/append-requests.ts';
import { type BatchId, MAX_REJECTIONS, type Rejection } from '../../../domain/batches/batch.ts';
import { parseJobBody, parseJson } from '../../../domain/jobs/job-body.ts';
import type { WebhookPolicy } from '../../../domain/jobs/webhook-policy.ts';
import type { ByteReservation } from '../../../http/floods/byte-budget.ts';
import { yieldedBody } from '../../body-budget.ts';
import { waitForRoom } from '../../read-body.ts';
import type { QueueCall } from '../queue-call.ts';
import { type Piece, RequestSplitter } from './split-requests.ts';

/** Size of a portion, which is one statement. Twice as much doubles the time that the garbage collector stops this process. */
const PORTION_BYTES = 64 * 1024;
const PORTION_LINES = 250;
/**
 * Memory of an upload whose lines fit into a portion: that, and what was read for it. As more than SMALL_BYTES it comes from the
 * share of large bodies, so that no number of uploads keeps a job waiting.
 */
const PORTION_MEMORY = 2 * PORTION_BYTES;
/** Bytes that are searched for line ends in one turn. */
const PART_BYTES = 64 * 1024;
/** A line of so many times the limit ends the upload: reading on to its end would take a while for nothing. */
const CUT_TIMES = 4;
/** Lines that are parsed before other requests of this process get a turn: less than a millisecond. */
const LINES_AT_ONCE = 64;

/** The outcome of an upload. */
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
 * the source is not read, so that its socket pushes back, and nothing is unpacked. What was committed stays if the upload
 * breaks off: the client repeats it with an offset.
 */
export async function uploadRequests(call: QueueCall, upload: Upload): Promise<UploadResult> {
  const { received, offset } = upload;
  if (offset !== null && offset > received) {
    throw new Failure(
      'conflict',
      `offset: the batch has received ${received} lines, so an upload cannot begin at ${offset}`,
    );
  }
  const limit = lineLimit(call);
  const splitter = new RequestSplitter({ limitBytes: limit.bytes, isLines: upload.isLines });
  const memory = new UploadMemory(call, limit.bytes);
  const writer = new PortionWriter(call, upload, limit);
  const parts = inTurns(upload.source, call.actor.userId);
  try {
    for (;;) {
      await memory.hold(splitter.pendingBytes);
      const part = await memory.orYield(parts.next());
      const pieces = part.done ? splitter.end() : splitter.push(part.value);
      for (const piece of pieces) {
        writer.add(piece);
        if (!writer.isFull) continue;
        await writer.flush();
        memory.release();
        await memory.hold(splitter.pendingBytes);
      }
      if (splitter.droppedBytes > CUT_TIMES * limit.bytes) await writer.giveUp();
      if (part.done) break;
    }
    await writer.flush();
    return writer.result;
  } finally {
    memory.release();
    void parts.return(undefined);
  }
}

/** The body in small parts, in turns of the event loop: much may come at once, unpacked more than was sent. */
async function* inTurns(source: AsyncIterable<Buffer>, owner: string): AsyncGenerator<Buffer, void> {
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += PART_BYTES) {
      await takeTurn(owner);
      yield chunk.subarray(at, at + PART_BYTES);
    }
  }
}

/** How long a line may be, and what says so. */
interface LineLimit {
  bytes: number;
  setBy: string;
}

/** A request may be as large as one of /run, and must fit into the user's limits by itself. */
function lineLimit({ plane, endpoint }: QueueCall): LineLimit {
  const { requestBytes, queuedBytes } = endpoint.user.limits;
  const all: LineLimit[] = [
    { bytes: plane.limits.runBodyBytes, setBy: 'PODYARD_RUN_BODY_BYTES' },
    { bytes: requestBytes ?? Number.POSITIVE_INFINITY, setBy: "the user's limit 'requestBytes'" },
    { bytes: queuedBytes ?? Number.POSITIVE_INFINITY, setBy: "the user's limit 'queuedBytes'" },
  ];
  return all.reduce((least, other) => (other.bytes < least.bytes ? other : least));
}

function overLimit({ bytes, setBy }: LineLimit): string {
  return `is larger than the limit of ${bytes} bytes (${setBy})`;
}

/** Collects lines and stores them in portions. */
class PortionWriter {
  readonly result: UploadResult;
  readonly #call: QueueCall;
  readonly #id: BatchId;
  readonly #limit: LineLimit;
  #toSkip: number;
  /** The lines that the batch must have; null: any number. */
  #expected: number | null;
  #pieces: Piece[] = [];
  #bytes = 0;

  constructor(call: QueueCall, { id, received, accepted, offset }: Upload, limit: LineLimit) {
    this.#call = call;
    this.#id = id;
    this.#limit = limit;
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

  /**
   * Parses and commits what was collected, when it is this upload's turn. Only a portion with a long line is parsed in its turn: the
   * others take less than a millisecond, mostly in the rest after the portion before.
   */
  async flush(): Promise<void> {
    const [pieces, bytes] = [this.#pieces, this.#bytes];
    if (pieces.length === 0) return;
    [this.#pieces, this.#bytes] = [[], 0];
    const { plane, actor } = this.#call;
    const portion = bytes <= PORTION_MEMORY ? await this.#parse(pieces) : null;
    await plane.uploadPace.run(actor.userId, async () => this.#commit(portion ?? (await this.#parse(pieces))));
  }

  /** Stores what came before a line that is far over the limit, and refuses the rest with it. */
  async giveUp(): Promise<never> {
    await this.flush();
    const line = this.result.linesReceived - this.#toSkip + 1;
    throw new Failure('badRequest', `line ${line} of the batch ${overLimit(this.#limit)}. The lines before it stay`);
  }

  async #parse(pieces: readonly Piece[]): Promise<Portion> {
    const requests: NewRequest[] = [];
    const rejections: Rejection[] = [];
    for (const [line, piece] of pieces.entries()) {
      if (line % LINES_AT_ONCE === LINES_AT_ONCE - 1) await setImmediate();
      if (piece === null) continue;
      try {
        if (piece === 'tooLong') throw new Failure('badRequest', overLimit(this.#limit));
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

/** The parser speaks of a request body, which here is a line. It quotes a few bytes of it, which the database may not store. */
function reasonOf({ message }: Failure): string {
  const reason = message.replace(/^the request body /, '').replace(/^The job is not valid: /, '');
  return reason.replaceAll('\0', '�').toWellFormed();
}

/**
 * The part of the budget for request bodies that an upload has: that of a portion, or of the longest line while there is a
 * line that is longer. Nothing is held while it waits for more, so that uploads never wait for each other in a circle.
 */
class UploadMemory {
  readonly #call: QueueCall;
  readonly #lineBytes: number;
  #held: ByteReservation | null = null;
  #bytes = 0;

  constructor(call: QueueCall, lineBytes: number) {
    this.#call = call;
    this.#lineBytes = lineBytes;
  }

  /** Waits until there is memory to read on, with so many bytes of a line; rejects with `unavailable`. */
  async hold(pendingBytes: number): Promise<void> {
    const bytes = pendingBytes <= PORTION_BYTES ? PORTION_MEMORY : PORTION_MEMORY + this.#lineBytes;
    if (this.#bytes >= bytes) return;
    this.release();
    const { res, plane, actor } = this.#call;
    const { bodies: budget } = plane;
    this.#held =
      budget.tryReserve(bytes, actor.userId) ?? (await waitForRoom({ res, budget, userId: actor.userId }, bytes));
    this.#bytes = bytes;
  }

  /** Waits for the client; rejects with `unavailable` when others have waited too long for the memory. */
  async orYield<T>(next: Promise<T>): Promise<T> {
    const held = this.#held!;
    const { promise, reject } = Promise.withResolvers<never>();
    held.onYield = () => reject(yieldedBody());
    try {
      return await Promise.race([next, promise]);
    } finally {
      held.onYield = null;
    }
  }

  release(): void {
    this.#held?.release();
    this.#held = null;
    this.#bytes = 0;
  }
}

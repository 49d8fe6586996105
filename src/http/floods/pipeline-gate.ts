import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { enterTurn } from '../../core/flow/turns.ts';
import { type ConnectionPace, isRefusal, type PacedTaker } from './refusal-pace.ts';
import { enterRequestTurn, leaveRequestTurn } from './request-turns.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
/** The cost of a refusal by node's server and a framework costs, measured in those of the queue API. */
const COST = 4;
/** Pieces of one read that are passed on in one turn: a chunked body may be full of what looks like ends of heads. */
const MAX_PIECES = 256;

const gates = new WeakMap<object, PipelineGate>();
/** Responses of an upstream, whose status is not a refusal of ours. */
const forwarded = new WeakSet<object>();

/**
 * Passes the requests of a connection to node's HTTP server one after the other. On its own, node's server begins all requests
 * of a read at once, in one turn of the event loop and without a limit. Here a request that was sent before the answer to
 * the one before waits for that, then for a turn (http/floods/request-turns.ts), and after refusals for its pace (refusal-pace.ts).
 *
 * Bytes are passed on up to the end of a head, or of a body; what follows goes back into the socket. A division of the bytes
 * changes no message, so that nothing needs to be parsed here.
 */
export class PipelineGate implements PacedTaker {
  readonly #socket: Socket;
  readonly #pace: ConnectionPace;
  readonly #pass: (chunk: Buffer) => void;
  /** Responses that have not ended. */
  #open = 0;
  #latest: ServerResponse | null = null;
  /** Bytes of the latest request's body that were not passed on; null: a chunked one, which ends with a piece as well. */
  #bodyLeft: number | null = 0;
  /** The bytes after the piece that is being passed on. */
  #rest: Buffer = Buffer.alloc(0);
  /** True while a piece is passed on that begins between two requests: it ends with a head. */
  #isHeadPiece = false;
  #isHolding = false;
  #isWaiting = false;
  #isDetached = false;

  static of(socket: object): PipelineGate | undefined {
    return gates.get(socket);
  }

  /** Call it once the server has added its listeners. */
  constructor(socket: Socket, pace: ConnectionPace) {
    const [read] = socket.listeners('data') as [(this: Socket, chunk: Buffer) => void];
    this.#socket = socket;
    this.#pace = pace;
    this.#pass = (chunk) => read.call(socket, chunk);
    socket.off('data', read);
    socket.on('data', this.#onData); // the server's parser then no longer reads from the connection itself
    socket.once('close', () => {
      this.#pace.leave(this);
      leaveRequestTurn(this);
    });
    gates.set(socket, this);
  }

  /** Calls `serve` for a request that the server has read; later, if its client has to wait. */
  begin(res: ServerResponse, serve: () => void): void {
    const forwardedFor = res.req.headers['x-forwarded-for'] as string | undefined;
    const late: PacedTaker = {
      takeTurn: () => {
        this.#pace.resume();
        if (!res.destroyed) serve();
      },
      destroy: () => this.destroy(),
    };
    this.#open += 1;
    this.#latest = res;
    this.#bodyLeft = this.#isHeadPiece ? bodyLength(res) : null;
    res.once('close', () => {
      this.#pace.leave(late);
      this.#open -= 1;
      if (isRefusal(res.statusCode) && !forwarded.has(res)) this.#pace.refused(COST, forwardedFor);
      else this.#pace.passed();
      if (this.#open > 0) return;
      leaveRequestTurn(this);
      if (this.#isHolding) this.#waitForTurn(enterRequestTurn);
    });
    if (!this.#pace.mustWaitFor(forwardedFor, late)) serve();
  }

  /** Notes that the server's parser has refused what the connection sent. */
  refused(): void {
    this.#pace.refused(COST);
  }

  /** Releases the connection. Returns what was read and not passed on. */
  detach(): Buffer {
    this.#isDetached = true;
    leaveRequestTurn(this);
    this.#socket.off('data', this.#onData);
    gates.delete(this.#socket);
    return this.#rest;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  takeTurn(): void {
    this.#isWaiting = false;
    this.#pace.resume();
    if (this.#isDetached || this.#socket.destroyed) leaveRequestTurn(this);
    else {
      this.#isHolding = false;
      this.#socket.resume();
    }
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#rest = chunk;
    for (let pieces = 0; this.#rest.length > 0; pieces++) {
      if (!this.#mayPass(pieces)) {
        this.#hold();
        return;
      }
      const size = this.#nextSize();
      const piece = this.#rest.subarray(0, size);
      this.#rest = this.#rest.subarray(size);
      this.#pass(piece);
      if (this.#isDetached || this.#socket.destroyed) return;
    }
    if (this.#open === 0) leaveRequestTurn(this); // it began nothing
  };

  #nextSize(): number {
    const rest = this.#rest;
    this.#isHeadPiece = !this.#isReadingBody;
    if (!this.#isHeadPiece && this.#bodyLeft !== null && this.#bodyLeft > 0) {
      const size = Math.min(rest.length, this.#bodyLeft);
      this.#bodyLeft -= size;
      return size;
    }
    const end = rest.indexOf(HEAD_END);
    return end < 0 ? rest.length : end + HEAD_END.length;
  }

  get #isReadingBody(): boolean {
    return this.#latest !== null && !this.#latest.req.complete;
  }

  #mayPass(pieces: number): boolean {
    if (this.#isWaiting) return false;
    if (!this.#isReadingBody) {
      if (this.#open > 0) return false;
      if (this.#pace.mustWait(this)) {
        this.#isWaiting = true;
        leaveRequestTurn(this);
      }
    }
    if (pieces >= MAX_PIECES) this.#waitForTurn(enterTurn);
    return !this.#isWaiting;
  }

  #waitForTurn(enter: typeof enterTurn): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    enter(this);
  }

  /** Puts the rest back: it is read again, before the end of the connection, once the socket is resumed. */
  #hold(): void {
    this.#isHolding = true;
    this.#socket.pause();
    this.#socket.unshift(this.#rest);
    this.#rest = this.#rest.subarray(0, 0);
  }
}

/** Null: only its end says how long it is. */
function bodyLength({ req: { headers } }: ServerResponse): number | null {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/** Notes that the response is an upstream's. */
export function markForwarded(res: ServerResponse): void {
  forwarded.add(res);
}

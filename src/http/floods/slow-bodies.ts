import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, monotonicClock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { rawProblem } from '../problem.ts';

/** How long a body may arrive at any speed, and what it must have brought for each second after that. */
const GRACE_MS = 30_000;
const MIN_BYTES_PER_SECOND = 8 * 1024;
export const CHECK_MS = 5_000;

/** How long the head of a request may take, and how often node looks. */
export const HEAD_TIMEOUTS = { headersTimeout: 30_000, connectionsCheckingInterval: CHECK_MS } as const;

/** True when `bytes` in `elapsedMs` are less than 8 KiB a second after the first half minute. */
export function isTooSlow(elapsedMs: number, bytes: number): boolean {
  return bytes < ((elapsedMs - GRACE_MS) / 1_000) * MIN_BYTES_PER_SECOND;
}

/** True while the body is not read, as when it waits for memory. */
function waitsForUs(req: IncomingMessage): boolean {
  return req.readableFlowing !== true && req.listenerCount('readable') === 0;
}

interface Seen {
  res: ServerResponse;
  sinceMs: number;
  bytesBefore: number;
}

/**
 * Ends requests whose body arrives more slowly than 8 KiB a second after its first half minute: a client that sends a byte
 * now and then would hold its connection, and the memory reserved for the body, for ever. Node's own limit is one for the
 * whole request, and would end large uploads at a fair speed. One check every five seconds for all connections of a server
 * costs a request next to nothing.
 */
export class SlowBodies {
  readonly #clock: Clock;
  readonly #sockets = new Map<Socket, Seen | null>();
  readonly #latest = new WeakMap<Socket, ServerResponse>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ clock = monotonicClock }: { clock?: Clock } = {}) {
    this.#clock = clock;
  }

  /** Notes the request that its connection is sending now. */
  watch(res: ServerResponse): void {
    const { socket, headers } = res.req;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    this.#latest.set(socket, res);
    if (this.#sockets.has(socket)) return;
    this.#sockets.set(socket, null);
    socket.once('close', () => this.#forget(socket));
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref();
  }

  /** Ends what is too slow now. */
  check(): void {
    const now = this.#clock.now();
    for (const [socket, before] of this.#sockets) {
      const res = this.#latest.get(socket)!;
      if (res.req.complete || waitsForUs(res.req)) {
        if (before) this.#sockets.set(socket, null);
      } else if (before?.res !== res) {
        this.#sockets.set(socket, { res, sinceMs: now, bytesBefore: socket.bytesRead });
      } else if (isTooSlow(now - before.sinceMs, socket.bytesRead - before.bytesBefore)) this.#end(socket, res);
    }
  }

  /** Node takes the socket from `res.req` when its reader stops reading the body. */
  #end(socket: Socket, res: ServerResponse): void {
    this.#forget(socket);
    const isNext = res.socket === socket; // else a response to an earlier request comes first
    if (res.headersSent || !isNext) {
      socket.destroy();
      return;
    }
    res.statusCode = 408;
    socket.end(rawProblem(slowBody(), res.req.url), () => socket.destroy());
  }

  #forget(socket: Socket): void {
    this.#sockets.delete(socket);
    if (this.#sockets.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** For a body that stops arriving, or arrives too slowly. */
export function slowBody(): Failure {
  return new Failure('requestTimeout', 'The request body did not come in time.');
}

import { Readable, type Writable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { Feed } from './live-feed.ts';

/** A comment line each so often keeps a quiet connection. */
export const COMMENT_EVERY_MS = 15_000;

/** The response of an operation that answers server-sent events. */
export function eventStreamSchema(description: string, example: string) {
  return {
    description,
    content: { 'text/event-stream': { schema: Type.Unsafe<Readable>({ type: 'string' }), example } },
  };
}

export function sendEventStream(reply: FastifyReply, events: AsyncIterable<string>): FastifyReply {
  reply.headers({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no', 'content-type': 'text/event-stream' });
  return reply.send(Readable.from(events, { objectMode: false }));
}

/** What `events` yields, for as long as the client stays and the app is open: then its signal aborts. */
export async function* whileConnected(
  socket: Writable,
  closing: AbortSignal,
  events: (signal: AbortSignal) => AsyncIterable<string>,
): AsyncGenerator<string> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  socket.once('close', onClose);
  try {
    yield* events(AbortSignal.any([gone.signal, closing]));
  } finally {
    socket.off('close', onClose);
  }
}

/** A feed as server-sent events `snapshot`. */
export function streamFeed(feed: Feed, closing: AbortSignal, socket: Writable): AsyncGenerator<string> {
  return whileConnected(socket, closing, async function* (signal) {
    yield ': stream begins\n\n';
    for await (const text of feed.watch(signal, COMMENT_EVERY_MS)) {
      yield text === undefined ? ': still here\n\n' : `event: snapshot\ndata: ${text}\n\n`;
    }
  });
}

import { Readable, type Writable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { Feed } from './live-feed.ts';

/** Interval of the comment lines that keep a quiet connection open. */
export const COMMENT_EVERY_MS = 15_000;

/** The response schema of an operation that streams server-sent events. */
export function eventStreamSchema(description: string, example: string) {
  return {
    description,
    content: { 'text/event-stream': { schema: Type.Unsafe<Readable>({ type: 'string' }), example } },
  };
}

/** Streams `events` as the response body. */
export function sendEventStream(reply: FastifyReply, events: AsyncIterable<string>): FastifyReply {
  reply.headers({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no', 'content-type': 'text/event-stream' });
  return reply.send(Readable.from(events, { objectMode: false }));
}

/** Yields `events` until the client disconnects or the app closes; its signal aborts then. */
export async function* whileConnected(
  socket: Writable,
  closing: AbortSignal,
  events: (signal: AbortSignal) => AsyncIterable<string>,
): AsyncGenerator<string> {
  const disconnected = new AbortController();
  const onClose = () => disconnected.abort();
  socket.once('close', onClose);
  try {
    yield* events(AbortSignal.any([disconnected.signal, closing]));
  } finally {
    socket.off('close', onClose);
  }
}

/** Streams a feed as server-sent events named `snapshot`. */
export function streamFeed(feed: Feed, closing: AbortSignal, socket: Writable): AsyncGenerator<string> {
  return whileConnected(socket, closing, async function* (signal) {
    yield ': stream begins\n\n';
    for await (const text of feed.watch(signal, COMMENT_EVERY_MS)) {
      yield text === undefined ? ': still here\n\n' : `event: snapshot\ndata: ${text}\n\n`;
    }
  });
}

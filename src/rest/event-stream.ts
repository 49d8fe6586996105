import { Readable, type Writable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { Feed } from './live-feed.ts';

const COMMENT_EVERY_MS = 15_000;

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

/** A feed as server-sent events `snapshot`, for as long as the client stays. */
export async function* streamFeed(feed: Feed, closing: AbortSignal, socket: Writable): AsyncGenerator<string> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  socket.once('close', onClose);
  try {
    yield ': stream begins\n\n';
    for await (const text of feed.watch(AbortSignal.any([gone.signal, closing]), COMMENT_EVERY_MS)) {
      yield text === undefined ? ': still here\n\n' : `event: snapshot\ndata: ${text}\n\n`;
    }
  } finally {
    socket.off('close', onClose);
  }
}

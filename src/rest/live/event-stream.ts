import { Readable, type Writable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Credential } from '../../domain/access/key-ring.ts';
import type { RouteDeps } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
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
export function sendEventStream(
  reply: FastifyReply,
  events: AsyncIterable<string>,
  contentType = 'text/event-stream',
): FastifyReply {
  reply.headers({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no', 'content-type': contentType });
  return reply.send(Readable.from(events, { objectMode: false }));
}

/** The reader of a stream: a connection, opened with a key or a session. */
export interface StreamClient {
  socket: Writable;
  actor: Credential;
}

/** Yields `events` until the client disconnects, its key, session or membership ends or the app closes; its signal aborts then. */
export async function* whileConnected(
  { keyRing, closing }: Pick<RouteDeps, 'keyRing' | 'closing'>,
  { socket, actor }: StreamClient,
  events: (signal: AbortSignal) => AsyncIterable<string>,
): AsyncGenerator<string> {
  const gone = new AbortController();
  const onGone = () => gone.abort();
  socket.once('close', onGone);
  const unwatch = keyRing.onEnd(actor, onGone);
  try {
    yield* events(AbortSignal.any([gone.signal, closing]));
  } finally {
    unwatch();
    socket.off('close', onGone);
  }
}

/** Streams a feed as server-sent events named `snapshot`. */
export function sendFeed(
  deps: Pick<RouteDeps, 'keyRing' | 'closing'>,
  reply: FastifyReply,
  actor: Credential,
  feed: Feed,
): FastifyReply {
  const events = whileConnected(deps, { socket: reply.raw, actor }, async function* (signal) {
    yield ': stream begins\n\n';
    for await (const text of feed.watch(signal, COMMENT_EVERY_MS)) {
      yield text === undefined ? ': still here\n\n' : `event: snapshot\ndata: ${text}\n\n`;
    }
  });
  return sendEventStream(reply, events);
}

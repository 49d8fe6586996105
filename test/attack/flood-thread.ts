/**
 * A client that sends one request over and over on many connections, as fast as the server takes it, in a thread of its own:
 * in the test's own it would keep the test waiting. See flood.ts.
 */
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { FloodTask } from './flood.ts';

const { port, from = '127.0.0.1', request, openings, connections, reads, renews } = workerData as FloodTask;
/** Pipelined in one piece; a renewing client sends its request once. */
const PIECE_BYTES = 16_384;
const piece = Buffer.from(request.repeat(renews ? 1 : Math.max(1, Math.floor(PIECE_BYTES / request.length))), 'latin1');
let opened = 0;
let answers = 0;

/** `n`: which of the connections it is, or replaces. */
function open(n: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  opened += 1;
  const send = () => {
    while (!socket.destroyed && socket.write(piece)) if (renews) return;
  };
  socket.on('error', () => {});
  socket.on('connect', () => {
    if (openings) socket.write(openings[n % openings.length]!, 'latin1');
    send();
  });
  if (!renews) socket.on('drain', send);
  if (reads) {
    socket.on('data', (chunk: Buffer) => {
      for (let at = chunk.indexOf('HTTP/1.1 '); at >= 0; at = chunk.indexOf('HTTP/1.1 ', at + 9)) answers += 1;
      if (renews) socket.resetAndDestroy();
    });
  } else socket.pause();
  socket.on('close', () => setImmediate(open, n));
  return socket;
}

for (let i = 0; i < connections; i++) open(i);
setInterval(() => parentPort!.postMessage({ opened, answers }), 50);

import { type Receiver, taken } from './taken.ts';
import { TurnLimit } from './turn-limit.ts';

export interface Sent {
  start: number;
  length: number;
  /** Fills a buffer with what is at `at`; resolves with how many bytes, at least one. */
  read: (buffer: Buffer, at: number) => Promise<number>;
}

/** Read and written at once. */
const CHUNK_BYTES = 2 ** 18;
/** The kernel takes a tenth of a millisecond or more for each: what clients take at full speed leaves most of a turn to others. */
const CHUNKS_IN_A_TURN = 2;
const MAX_SPARE = 32;

const writes = new TurnLimit<() => void>(CHUNKS_IN_A_TURN, (write) => write());
/** Buffers of a chunk that nobody uses: the pages of new ones would cost as much as what is read into them. */
const spare: Buffer[] = [];

/** Sends a part of a file as fast as the client takes it, with two buffers, and in turn with all others that do. */
export async function sendBytes(res: Receiver, { start, length, read }: Sent): Promise<void> {
  const end = start + length;
  const isLong = length >= CHUNK_BYTES;
  const newBuffer = () => (isLong ? spare.pop() : null) ?? Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, length));
  const buffers = [newBuffer(), newBuffer()];
  const isOver = () => res.destroyed || res.writableEnded;
  let free: Promise<void> | null = null;
  for (let at = start, i = 0; at < end && !isOver(); i += 1) {
    const buffer = buffers[i % 2]!; // read while the client takes the other one
    const bytesRead = await read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    await free;
    if (isLong) await turn();
    at += bytesRead;
    const isFull = !res.write(buffer.subarray(0, bytesRead));
    free = isFull ? taken(res) : null;
    const mayWait = !isFull && res.writableLength > 0 && at < end; // nothing says when so little has left
    if (mayWait) buffers[i % 2] = newBuffer();
  }
  if (!isLong) return;
  await free;
  if (isOver() || res.writableLength > 0) return;
  for (const buffer of buffers) if (spare.length < MAX_SPARE) spare.push(buffer);
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (writes.enter(resolve)) resolve();
  });
}

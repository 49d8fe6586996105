import { type Receiver, taken } from './taken.ts';
import { TurnLimit } from './turn-limit.ts';

export interface Sent {
  start: number;
  length: number;
  /** Fills a buffer with what is at `at`; resolves with how many bytes, at least one. */
  read: (buffer: Buffer, at: number) => Promise<number>;
}

/** The size of a read and a write, and unused buffers of that size: the pages of a new one would cost as much as the read into it. */
interface Pieces {
  bytes: number;
  spare: Buffer[];
}

/** Takes a quarter less CPU for each byte than half of it, and fits the cache of a processor; twice as much does not. */
const LARGE: Pieces = { bytes: 2 ** 19, spare: [] };
/** Taken while many send, so that their buffers do not add up. */
const SMALL: Pieces = { bytes: 2 ** 18, spare: [] };
const MANY = 16;
const MAX_SPARE = 32;
/** The kernel takes a tenth of a millisecond or more for a small piece: what clients take at full speed leaves most of a turn to others. */
const SMALL_IN_A_TURN = 2;

const writes = new TurnLimit<() => void>(SMALL_IN_A_TURN, (write) => write());
let sending = 0;

/** Sends a part of a file as fast as the client takes it, with two buffers, and in turn with all others that do. Nothing is read afterwards. */
export async function sendBytes(res: Receiver, sent: Sent): Promise<void> {
  sending += 1;
  try {
    await send(res, sent, sending > MANY ? SMALL : LARGE);
  } finally {
    sending -= 1;
  }
}

async function send(res: Receiver, { start, length, read }: Sent, { bytes, spare }: Pieces): Promise<void> {
  const end = start + length;
  const isSpared = length >= bytes;
  const takesTurns = length >= SMALL.bytes;
  const newBuffer = () => (isSpared ? spare.pop() : null) ?? Buffer.allocUnsafeSlow(Math.min(bytes, length));
  const buffers: [Buffer | null, Buffer | null] = [null, null];
  const isOver = () => res.destroyed || res.writableEnded;
  const readInto = (i: 0 | 1, at: number) => {
    buffers[i] ??= newBuffer();
    const buffer = buffers[i];
    return read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
  };
  let free: Promise<void> | null = null;
  let reading = length > 0 ? readInto(0, start) : null;
  for (let at = start, i: 0 | 1 = 0; reading !== null; i = i === 0 ? 1 : 0) {
    const bytesRead: number = await reading;
    await free;
    at += bytesRead;
    // Begun before this piece is written: the kernel mostly takes it at once, and the file and the client would take turns.
    reading = at < end && !isOver() ? readInto(i === 0 ? 1 : 0, at) : null;
    reading?.catch(() => {}); // thrown where it is awaited
    for (let left = takesTurns ? bytesRead : 0; left > 0; left -= SMALL.bytes) await turn();
    if (isOver()) continue; // awaits what is being read
    const isFull = !res.write(buffers[i]!.subarray(0, bytesRead));
    free = isFull ? taken(res) : null;
    const mayWait = !isFull && res.writableLength > 0; // nothing says when so little has left
    if (mayWait) buffers[i] = null;
  }
  if (!isSpared) return;
  await free;
  if (isOver() || res.writableLength > 0) return;
  for (const buffer of buffers) if (buffer && spare.length < MAX_SPARE) spare.push(buffer);
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (writes.enter(resolve)) resolve();
  });
}

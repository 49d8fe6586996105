/** A response as `sendBytes` uses it. */
interface Receiver {
  /** It is complete, or its client is gone. */
  readonly isOver: boolean;
  readonly unsentBytes: number;
  /** False: wait for `taken`. */
  write(chunk: Buffer): boolean;
  taken(): Promise<void>;
}

export interface Sent {
  start: number;
  length: number;
  /** Read and written at once. */
  chunkBytes: number;
  /** Fills a buffer with what is at `at`; resolves with how many bytes, at least one. */
  read: (buffer: Buffer, at: number) => Promise<number>;
}

/**
 * Sends a part of a file as fast as the client takes it, with two buffers: new ones would make the collector of memory work more than all
 * else.
 */
export async function sendBytes(res: Receiver, { start, length, chunkBytes, read }: Sent): Promise<void> {
  const end = start + length;
  const buffers = [chunkBytes, chunkBytes].map((bytes) => Buffer.allocUnsafeSlow(Math.min(bytes, length)));
  let taken: Promise<void> | null = null;
  for (let at = start, i = 0; at < end && !res.isOver; i += 1) {
    const buffer = buffers[i % 2]!; // read while the client takes the other one
    const bytesRead = await read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    await taken;
    at += bytesRead;
    const isFull = !res.write(buffer.subarray(0, bytesRead));
    taken = isFull ? res.taken() : null;
    const mayWait = !isFull && res.unsentBytes > 0 && at < end; // nothing says when so little has left
    if (mayWait) buffers[i % 2] = Buffer.allocUnsafeSlow(buffer.length);
  }
}

import { takenBytes } from './taken-bytes.ts';

/** A response of the data plane, or node's. */
export interface Receiver {
  readonly socket: { readonly bytesWritten: number } | null;
  /** It is complete, or its client is gone. */
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableNeedDrain: boolean;
  /** Bytes that have not left this process. */
  readonly writableLength: number;
  /** False: wait for `taken`. The buffer is free once nothing is unsent. */
  write(chunk: Buffer): boolean;
  destroy(): unknown;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

/** A client that takes nothing for this long loses its connection. */
const STUCK_MS = 120_000;

/** Resolves when the client takes more, or is gone. */
export function taken(res: Receiver): Promise<void> {
  return new Promise((resolve) => {
    const { socket } = res;
    const sent = () => (socket ? takenBytes(socket) : 0);
    let before = sent();
    const end = () => {
      clearInterval(timer);
      res.off('drain', end);
      res.off('close', end);
      resolve();
    };
    const timer = setInterval(() => {
      const now = sent();
      if (now === before) res.destroy();
      before = now;
    }, STUCK_MS);
    res.once('drain', end);
    res.once('close', end);
    if (res.destroyed || !res.writableNeedDrain) end();
  });
}

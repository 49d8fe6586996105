import type { CallResponse } from '../http/call-messages.ts';
import { takenBytes } from '../http/floods/taken-bytes.ts';

/** A client that takes nothing for this long loses its connection. */
const STUCK_MS = 120_000;

/** Resolves when the client takes more, or is gone. */
export function taken(res: CallResponse): Promise<void> {
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

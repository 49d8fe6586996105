import type { CallRequest } from '../../../http/call-messages.ts';
import { S3Error } from '../s3-error.ts';

/** The size of one hash update and one write. */
const BLOCK_BYTES = 2 ** 19;

/**
 * Yields the body of a request in blocks; each is used again once the next is taken. While one is used, another is filled;
 * then the client waits. A buffer for each read would have the collector of memory take more time than all else.
 */
export async function* readBlocks(req: CallRequest): AsyncGenerator<Buffer> {
  const blocks = new Blocks(req);
  try {
    for (let block = await blocks.next(); block !== null; block = await blocks.next()) yield block;
  } finally {
    blocks.drop();
  }
}

class Blocks {
  readonly #req: CallRequest;
  readonly #size: number;
  readonly #free: Buffer[] = [];
  #ready: Buffer[] = [];
  #filling: Buffer | null = null;
  #filled = 0;
  #used: Buffer | null = null;
  #state: 'unread' | 'reading' | 'ended' | 'cut' | 'dropped' = 'unread';
  #wake: () => void = () => {};

  constructor(req: CallRequest) {
    this.#req = req;
    const length = Number(req.headers['content-length'] ?? BLOCK_BYTES);
    this.#size = Math.min(BLOCK_BYTES, Math.max(1, length));
  }

  /** Takes back the block before; null after the last. */
  async next(): Promise<Buffer | null> {
    if (this.#used) this.#free.push(this.#used);
    this.#used = null;
    if (this.#state === 'unread') this.#begin();
    if (this.#ready.length === 0) this.#req.resume(); // which may bring the rest at once
    while (this.#ready.length === 0 && this.#state === 'reading') {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#state === 'cut')
      throw new S3Error('RequestTimeout', 'The connection was closed before the body was complete.');
    const block = this.#ready.shift() ?? this.#takeFilled();
    this.#used = block;
    if (this.#ready.length === 0 && this.#state === 'reading') this.#req.resume();
    return block;
  }

  /** The rest is for nobody. */
  drop(): void {
    this.#state = 'dropped';
    this.#ready = [];
  }

  #begin(): void {
    const req = this.#req;
    this.#state = 'reading';
    const end = (state: 'ended' | 'cut') => {
      if (this.#state === 'reading') this.#state = state;
      this.#wake();
    };
    req.on('data', (chunk) => this.#add(chunk));
    req.once('end', () => end('ended'));
    req.once('close', () => end('cut'));
    if (req.destroyed) end(req.readableEnded ? 'ended' : 'cut');
  }

  #add(chunk: Buffer): void {
    if (this.#state !== 'reading') return;
    for (let at = 0; at < chunk.length; ) {
      this.#filling ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
      const size = chunk.copy(this.#filling, this.#filled, at);
      at += size;
      this.#filled += size;
      if (this.#filled < this.#filling.length) continue;
      this.#ready.push(this.#filling);
      this.#filling = null;
      this.#filled = 0;
    }
    if (this.#ready.length === 0) return;
    if (this.#used !== null || this.#ready.length > 1) this.#req.pause();
    this.#wake();
  }

  #takeFilled(): Buffer | null {
    const filling = this.#filling;
    this.#filling = null;
    return filling?.subarray(0, this.#filled) ?? null;
  }
}

import { isView, readBuffer, readWords } from './read-buffer.ts';

/** A copy of bytes that are expected again. */
export class RepeatedBytes {
  readonly length: number;
  readonly #bytes: Buffer;
  readonly #words: Uint32Array;

  constructor(bytes: Buffer) {
    this.length = bytes.length;
    this.#bytes = copyOf(bytes);
    this.#words = new Uint32Array(this.#bytes.buffer, 0, bytes.length >>> 2);
  }

  /** True when they are in `bytes` from `at` on. */
  isAt(bytes: Buffer, at: number): boolean {
    const end = at + this.length;
    if (end > bytes.length) return false;
    if (at === 0 && isView(bytes)) return this.#wasRead();
    return bytes.subarray(at, end).equals(this.#bytes);
  }

  /** Compares with the start of what was read, word by word: a third of the time of `equals`, which needs a view as well. */
  #wasRead(): boolean {
    const words = this.#words;
    for (let i = 0; i < words.length; i++) if (words[i] !== readWords[i]) return false;
    for (let i = words.length << 2; i < this.length; i++) if (this.#bytes[i] !== readBuffer[i]) return false;
    return true;
  }
}

/** Copies outside node's buffer pool, where a small copy would keep 8 KiB alive. */
export function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

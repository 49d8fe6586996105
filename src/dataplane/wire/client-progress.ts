import { READER_MIN_BYTES } from '../../core/flow/taken-bytes.ts';
import { isTooSlow } from '../../http/floods/slow-bodies.ts';

/** Bytes that a connection has received, and sent as far as the kernel took them. */
interface Counted {
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** Judges whether a client reads its response, and sends the body of its request, fast enough: http/floods/slow-bodies.ts. */
export class ClientProgress {
  readonly #transport: Counted;
  /** How much the kernel had taken at the last check; null before the first. */
  #takenBefore: number | null = null;
  /** Since when the body is watched, in ms; 0: it is not. */
  #bodySinceMs = 0;
  #bodyBytesBefore = 0;

  constructor(transport: Counted) {
    this.#transport = transport;
  }

  /** Another request, or the end of the last response, begins. */
  reset(): void {
    this.#takenBefore = null;
    this.#bodySinceMs = 0;
  }

  /** True if the client took too little of its response since the last check. */
  readsTooSlowly(): boolean {
    const before = this.#takenBefore;
    this.#takenBefore = this.#transport.sentBytes;
    return before !== null && this.#takenBefore - before < READER_MIN_BYTES;
  }

  watchBody(nowMs: number): void {
    this.#bodySinceMs = nowMs;
    this.#bodyBytesBefore = this.#transport.receivedBytes;
  }

  get watchesBody(): boolean {
    return this.#bodySinceMs !== 0;
  }

  sendsTooSlowly(nowMs: number): boolean {
    return isTooSlow(nowMs - this.#bodySinceMs, this.#transport.receivedBytes - this.#bodyBytesBefore);
  }
}

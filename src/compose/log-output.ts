import { write, writeSync } from 'node:fs';

/** Limit of what waits for a slow reader; lines beyond it are lost. */
const MAX_WAITING_CHARACTERS = 4 * 2 ** 20;
const AGAIN_MS = 100;
const MAX_LAST_TRIES = 20;

/**
 * Writes log lines to a descriptor, in their order and without waiting for it. What cannot be written, as on a full disk or to a terminal
 * that is gone, is lost, and neither ends nor blocks the process: pino's own destination would retry for ever when the process ends.
 */
export class LogOutput {
  readonly #fd: number;
  #waiting = '';
  #isWriting = false;

  constructor(fd: number) {
    this.#fd = fd;
    process.once('exit', () => this.#writeRest());
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > MAX_WAITING_CHARACTERS) return;
    this.#waiting += line;
    if (!this.#isWriting) this.#writeWaiting();
  }

  #writeWaiting(): void {
    this.#isWriting = this.#waiting !== '';
    if (!this.#isWriting) return;
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#send(bytes);
  }

  #send(bytes: Buffer): void {
    write(this.#fd, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => this.#send(bytes), AGAIN_MS);
      else if (!error && written < bytes.length) this.#send(bytes.subarray(written));
      else this.#writeWaiting();
    });
  }

  /** A thread writes what is on its way; the rest follows, if the reader takes it within two seconds. */
  #writeRest(): void {
    if (this.#isWriting) sleepHere(AGAIN_MS);
    let rest = Buffer.from(this.#waiting);
    for (let tries = 0; rest.length > 0 && tries < MAX_LAST_TRIES; ) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
        tries += 1;
        sleepHere(AGAIN_MS);
      }
    }
  }
}

function sleepHere(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

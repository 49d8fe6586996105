const HEADER_BYTES = 8;
const STDERR = 2;

/** A part of what a program printed. `isLast`: a frame of the engine ends with it. */
export interface Piece {
  stream: 'output' | 'errors';
  bytes: Buffer;
  isLast: boolean;
}

/**
 * Splits the engine's multiplexed stream of a log, or of an exec without a terminal: frames of `[stream, 0, 0, 0, length as 4
 * bytes]`. A frame is passed on in the pieces in which it arrives, so that nothing is held.
 */
export class EngineFrames {
  #header: Buffer = Buffer.alloc(0);
  #stream: Piece['stream'] = 'output';
  #left = 0;

  *take(chunk: Buffer): Generator<Piece> {
    let data = chunk;
    while (data.length > 0) {
      if (this.#left === 0) {
        data = this.#takeHeader(data);
        continue;
      }
      const bytes = data.subarray(0, this.#left);
      this.#left -= bytes.length;
      data = data.subarray(bytes.length);
      yield { stream: this.#stream, bytes, isLast: this.#left === 0 };
    }
  }

  #takeHeader(data: Buffer): Buffer {
    const missing = HEADER_BYTES - this.#header.length;
    this.#header = Buffer.concat([this.#header, data.subarray(0, missing)]);
    if (this.#header.length === HEADER_BYTES) {
      this.#stream = this.#header[0] === STDERR ? 'errors' : 'output';
      this.#left = this.#header.readUInt32BE(4);
      this.#header = Buffer.alloc(0);
    }
    return data.subarray(missing);
  }
}

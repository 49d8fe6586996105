/** The browser's side of a terminal session (docs/interface/terminals.md). */

/** The bytes that either side may send before they are acknowledged. */
const WINDOW_BYTES = 256 * 1024;
const CHUNK_BYTES = 32 * 1024;
const INPUT = 0;

export interface TerminalSize {
  columns: number;
  rows: number;
}

/** How a session ended: the program's exit code, or why it was ended. */
export interface TerminalEnd {
  code: number | null;
  reason: string | null;
}

export interface TerminalListener {
  /** Call `done` once the bytes are shown: only then more come. */
  onOutput(bytes: Uint8Array, done: () => void): void;
  onNotice(text: string): void;
  onEnd(end: TerminalEnd): void;
}

/** A WebSocket as far as it is used. */
export type Socket = Pick<
  WebSocket,
  'send' | 'close' | 'readyState' | 'onopen' | 'onmessage' | 'onclose' | 'binaryType'
>;

const OPEN = 1;
const CONNECTION_LOST: TerminalEnd = { code: null, reason: 'the connection to the server was lost' };

/** Sends what is typed as UTF-8, no faster than the program reads it, and acknowledges what is shown. */
export class TerminalConnection {
  readonly #socket: Socket;
  readonly #encoder = new TextEncoder();
  #waiting: Uint8Array[] = [];
  #unacked = 0;
  #size: TerminalSize | null = null;
  #end: TerminalEnd = CONNECTION_LOST;
  #isClosed = false;

  constructor(socket: Socket, listener: TerminalListener) {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      if (this.#size !== null) this.resize(this.#size);
      this.#flush();
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') this.#onMessage(JSON.parse(data), listener);
      else {
        const bytes = new Uint8Array(data, 1);
        listener.onOutput(bytes, () => this.#send({ type: 'ack', bytes: bytes.length }));
      }
    };
    socket.onclose = () => {
      if (!this.#isClosed) listener.onEnd(this.#end);
      this.#isClosed = true;
    };
  }

  write(text: string): void {
    const bytes = this.#encoder.encode(text);
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) this.#waiting.push(bytes.subarray(at, at + CHUNK_BYTES));
    this.#flush();
  }

  resize(size: TerminalSize): void {
    this.#size = size;
    this.#send({ type: 'resize', ...size });
  }

  /** Ends the session without a word to the listener. */
  close(): void {
    this.#isClosed = true;
    this.#socket.close();
  }

  #onMessage(message: { type: string; bytes: number; text: string } & TerminalEnd, listener: TerminalListener): void {
    if (message.type === 'ack') {
      this.#unacked -= message.bytes;
      this.#flush();
    } else if (message.type === 'notice') listener.onNotice(message.text);
    else if (message.type === 'exit') this.#end = { code: message.code, reason: message.reason };
  }

  #flush(): void {
    while (this.#socket.readyState === OPEN && this.#waiting.length > 0) {
      const bytes = this.#waiting[0]!;
      if (this.#unacked + bytes.length > WINDOW_BYTES) return;
      this.#waiting.shift();
      this.#unacked += bytes.length;
      const message = new Uint8Array(bytes.length + 1);
      message[0] = INPUT;
      message.set(bytes, 1);
      this.#socket.send(message);
    }
  }

  #send(message: object): void {
    if (this.#socket.readyState === OPEN) this.#socket.send(JSON.stringify(message));
  }
}

/** Says in a line how a session ended. */
export function endText({ code, reason }: TerminalEnd): string {
  if (reason !== null) return `The session ended: ${reason}.`;
  return code === 0 ? 'The program has ended.' : `The program ended with exit code ${code}.`;
}

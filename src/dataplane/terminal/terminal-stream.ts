import type { Readable } from 'node:stream';
import type { Clock } from '../../core/clock.ts';
import {
  CLOSE_INTERNAL,
  CLOSE_NORMAL,
  CLOSE_POLICY,
  CLOSE_PROTOCOL_ERROR,
  CLOSE_TOO_BIG,
} from '../../core/web-socket-frames.ts';
import type { ExecSignal, Execution, TerminalSize } from '../../runtimes/execution.ts';
import { parseClientMessage, type ServerMessage, STREAMS, WINDOW_BYTES } from './terminal-messages.ts';
import type { WebSocketConnection, WebSocketListener } from './web-socket.ts';

/** Output is sent in messages of at most this size. */
const CHUNK_BYTES = 32 * 1024;
/** A client that sends this much without waiting for acknowledgements is cut off. */
const MAX_UNREAD_BYTES = 2 * WINDOW_BYTES;
/** The cost of a message besides its bytes: many small ones must not take many times the window. */
const MESSAGE_BYTES = 128;
/** Signals that may be on their way to the program at once: each is a program of its own. */
const MAX_SIGNALS = 16;

/** How a session ended: the program's exit code, or why it was ended. */
export interface StreamEnd {
  exitCode: number | null;
  reason: string | null;
}

const CLIENT_GONE_REASON = 'the client disconnected';

/**
 * Joins a program with a WebSocket. A client that does not acknowledge output pauses the program, and a program that does not
 * read its input pauses the client, so that neither makes this process hold more than a window of bytes.
 */
export class TerminalStream implements WebSocketListener {
  readonly #socket: WebSocketConnection;
  readonly #monotonic: Clock;
  readonly #onEnd: (end: StreamEnd) => void;
  #execution: Execution | null = null;
  /** Input that waits for the program, or for what came before: one write for many messages, since each would cost a kilobyte. */
  #pending: Buffer[] = [];
  #isWriting = false;
  #hasEnd = false;
  /** The window's size that the program's terminal does not have yet, and whether one is being set. */
  #nextSize: TerminalSize | null = null;
  #isResizing = false;
  #unacked = 0;
  /** Input that the program has not read, with what its messages cost. */
  #unread = 0;
  /** Bytes that the program has read and that are not acknowledged to the client yet. */
  #unsentAck = 0;
  #signals = 0;
  #isOver = false;
  /** For the record of the session. */
  readonly bytes = { input: 0, output: 0 };
  /** When something was last sent either way, and when the client was last heard of. */
  activeAtMs: number;
  aliveAtMs: number;

  /** `onEnd` is called once. */
  constructor(socket: WebSocketConnection, monotonic: Clock, onEnd: (end: StreamEnd) => void) {
    this.#socket = socket;
    this.#monotonic = monotonic;
    this.#onEnd = onEnd;
    this.activeAtMs = monotonic.now();
    this.aliveAtMs = this.activeAtMs;
  }

  /** Begins to carry the program's streams. A session that is over by then ends the program. */
  attach(execution: Execution): void {
    if (this.#isOver) {
      void execution.end();
      return;
    }
    this.#execution = execution;
    this.#send({ type: 'ready' });
    this.#forward(execution.output, STREAMS.output);
    if (execution.errors) this.#forward(execution.errors, STREAMS.errors);
    this.#writePending();
    void this.#resize();
    execution.exitCode.then(
      (exitCode) => this.#finish({ exitCode, reason: null }, CLOSE_NORMAL),
      (error) => this.end(error instanceof Error ? error.message : 'it failed', CLOSE_INTERNAL),
    );
  }

  notice(text: string): void {
    this.#send({ type: 'notice', text });
  }

  ping(): void {
    this.#socket.send({ kind: 'ping', bytes: Buffer.alloc(0) });
  }

  /** Ends the program and tells the client why. */
  end(reason: string, code = CLOSE_NORMAL): void {
    this.#finish({ exitCode: null, reason }, code);
  }

  onText(text: string): void {
    const message = parseClientMessage(text);
    switch (message?.type) {
      case undefined:
        this.end('the client sent a message that is not of the protocol', CLOSE_PROTOCOL_ERROR);
        break;
      case 'ack':
        this.#unacked = Math.max(0, this.#unacked - message.bytes);
        this.#resumeOutput();
        break;
      case 'eof':
        this.#hasEnd = true;
        this.#writePending();
        break;
      case 'resize':
        this.#nextSize = message.size;
        void this.#resize();
        break;
      case 'signal':
        void this.#signal(message.name);
    }
  }

  async #signal(name: ExecSignal): Promise<void> {
    if (!this.#execution) return;
    if (this.#signals >= MAX_SIGNALS) {
      this.end('the client sent signals faster than they can be delivered', CLOSE_POLICY);
      return;
    }
    this.#signals += 1;
    await this.#execution.signal(name).catch((error: Error) => this.notice(error.message));
    this.#signals -= 1;
  }

  /** One at a time, and the newest last: a window that is dragged sends many. */
  async #resize(): Promise<void> {
    if (this.#isResizing || !this.#execution) return;
    this.#isResizing = true;
    while (this.#nextSize !== null) {
      const size = this.#nextSize;
      this.#nextSize = null;
      await this.#execution.resize(size).catch(() => {}); // the program may have ended
    }
    this.#isResizing = false;
  }

  onBinary(message: Buffer): void {
    if (message[0] !== STREAMS.input) {
      this.end('the client sent a message that is not of the protocol', CLOSE_PROTOCOL_ERROR);
      return;
    }
    const bytes = message.subarray(1);
    this.activeAtMs = this.#monotonic.now();
    this.bytes.input += bytes.length;
    this.#unread += MESSAGE_BYTES + bytes.length;
    this.#pending.push(bytes);
    if (this.#unread > MAX_UNREAD_BYTES) this.end('the client sent more than it may', CLOSE_TOO_BIG);
    else this.#writePending();
  }

  onAlive(): void {
    this.aliveAtMs = this.#monotonic.now();
  }

  onDrain(): void {
    this.#sendAck();
    this.#resumeOutput();
  }

  onFault(reason: string, closeCode: number): void {
    this.end(reason, closeCode);
  }

  onClosed(): void {
    this.#finish({ exitCode: null, reason: CLIENT_GONE_REASON }, null);
  }

  #writePending(): void {
    if (!this.#execution || this.#isWriting) return;
    const { input } = this.#execution;
    if (this.#pending.length === 0) {
      if (this.#hasEnd) input.end();
      return;
    }
    const bytes = Buffer.concat(this.#pending);
    const costBytes = bytes.length + this.#pending.length * MESSAGE_BYTES;
    this.#pending = [];
    this.#isWriting = true;
    const acknowledge = () => {
      this.#isWriting = false;
      this.#unread -= costBytes;
      this.#unsentAck += bytes.length;
      this.#sendAck();
      this.#writePending();
    };
    // A program that has closed its input takes no more of it, and may still run.
    if (input.writableEnded || input.destroyed) acknowledge();
    else input.write(bytes, acknowledge);
  }

  #forward(stream: Readable, name: number): void {
    stream.on('data', (data: Buffer) => {
      this.activeAtMs = this.#monotonic.now();
      this.bytes.output += data.length;
      for (let at = 0; at < data.length; at += CHUNK_BYTES) {
        const bytes = Buffer.concat([Buffer.of(name), data.subarray(at, at + CHUNK_BYTES)]);
        this.#socket.send({ kind: 'binary', bytes });
      }
      this.#unacked += data.length;
      if (this.#isBlocked) stream.pause();
    });
  }

  get #isBlocked(): boolean {
    return this.#unacked >= WINDOW_BYTES || this.#socket.isFull;
  }

  #resumeOutput(): void {
    if (this.#isBlocked || !this.#execution) return;
    this.#execution.output.resume();
    this.#execution.errors?.resume();
  }

  /** Defers the acknowledgement while the client does not read: until then only the number is held. */
  #sendAck(): void {
    if (this.#unsentAck === 0 || this.#socket.isFull) return;
    this.#send({ type: 'ack', bytes: this.#unsentAck });
    this.#unsentAck = 0;
  }

  #send(message: ServerMessage): void {
    this.#socket.send({ kind: 'text', text: JSON.stringify(message) });
  }

  /** `closeCode`: null when the connection is gone. */
  #finish(end: StreamEnd, closeCode: number | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pending = [];
    if (closeCode === null) this.#socket.destroy();
    else {
      this.#send({ type: 'exit', code: end.exitCode, reason: end.reason });
      this.#socket.close(closeCode);
    }
    void this.#execution?.end();
    this.#onEnd(end);
  }
}

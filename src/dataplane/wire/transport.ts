import { connect, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { getSystemErrorName } from 'node:util';
import { takenBytes } from '../../core/flow/taken-bytes.ts';
import { stayPaused } from '../../http/floods/stay-paused.ts';
import { type BulkReader, mayReadOn } from './bulk-reads.ts';
import type { Transport, TransportReader } from './client-exchange.ts';
import { readBuffer, viewOf } from './read-buffer.ts';
import { enterRead, leaveRead } from './read-clock.ts';
import { type Handle, handleOf, onRead, takeOver } from './socket-handle.ts';
import { streamBinding, type WriteRequest } from './stream-binding.ts';

/** Up to this size a copy comes from node's buffer pool. */
const SMALL_BYTES = 4096;
const MAX_SPARE = 32;
/** Up to this size node tries to write synchronously. */
const MAX_PAST_STREAM = 16_384;
const KEEP_ALIVE_AFTER_MS = 60_000;
/** Reads of this size are those of a peer that sends as fast as it is read. */
const BULK_BYTES = 65_536;

/**
 * Buffers for copies of what was read, returned once written. A new buffer for each piece of a large body would keep the
 * garbage collector busy and grow the process by 100 MB.
 */
const spare: Buffer[] = [];

let spareRequest: WriteRequest | null = null;

/**
 * Wires with text to write once every event of this turn of the event loop has been handled. Written one by one between
 * reads, almost every piece would wake its receiver, which has emptied its queue by then.
 */
let corked: SocketTransport[] = [];

const noReader: TransportReader = { onBytes() {}, onEnd() {}, onDrain() {}, onClosed() {} };

/** A TCP or TLS connection. Plain TCP reads share one buffer. */
export class SocketTransport implements Transport, BulkReader {
  /** Called for each write through a stream, when `streamBinding` is missing. */
  static onFallback: () => void = () => {};
  reader: TransportReader = noReader;
  readonly socket: Socket;
  #error: Error | null = null;
  readonly #isShared: boolean;
  /** Text to write at the end of this turn of the event loop; bytes when nothing else was written in it. */
  #corked: string | Buffer = '';
  /** Something may wait in the stream, which then takes what follows. */
  #usesStream = false;
  /** Characters written past the stream that the kernel has not fully taken. */
  #pendingChars = 0;
  #isPaused = false;
  /** Nothing is read because others carry much as well. */
  #isResting = false;
  readonly #onClose = () => this.reader.onClosed(this.#error);
  readonly #onWritten = () => {
    if (!this.socket.destroyed && this.unsentBytes === 0) this.reader.onDrain();
  };

  /** Opens a connection; calls `onConnect` once it is open. */
  static connect(options: { address: string; port: number; onConnect: () => void }): SocketTransport {
    let transport: SocketTransport;
    const socket = connect({
      host: options.address,
      port: options.port,
      noDelay: true,
      allowHalfOpen: true,
      onread: { buffer: readBuffer, callback: (size) => transport.#deliverAll(size) },
    });
    socket.once('connect', options.onConnect);
    transport = new SocketTransport(socket, true);
    return transport;
  }

  /** Wraps a connection accepted by a server with `pauseOnConnect`. */
  static accept(accepted: Socket): SocketTransport {
    if (accepted instanceof TLSSocket) {
      const transport = new SocketTransport(accepted, false);
      accepted.on('data', (chunk: Buffer) => transport.reader.onBytes(chunk));
      return transport;
    }
    let transport: SocketTransport;
    const onread = { buffer: readBuffer, callback: (size: number) => transport.#deliverAll(size) };
    transport = new SocketTransport(takeOver(accepted, { onread }), true);
    return transport;
  }

  private constructor(socket: Socket, isShared: boolean) {
    this.socket = socket;
    this.#isShared = isShared;
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('end', () => this.reader.onEnd());
    socket.on('close', this.#onClose);
    stayPaused(socket);
    if (isShared) onRead(socket, (size) => this.#deliver(size));
  }

  get isFull(): boolean {
    const { unsentBytes } = this;
    return unsentBytes > 0 && unsentBytes >= this.socket.writableHighWaterMark;
  }

  /** Bytes that the kernel has not taken yet, without those written in this turn of the event loop. */
  get unsentBytes(): number {
    return this.#usesStream ? this.#pendingChars + this.socket.writableLength : this.#pendingChars;
  }

  /** Bytes that the kernel has taken. */
  get sentBytes(): number {
    return takenBytes(this.socket);
  }

  get receivedBytes(): number {
    return this.socket.bytesRead;
  }

  get isClosed(): boolean {
    return this.socket.destroyed;
  }

  writeText(text: string): void {
    const before = this.#corked;
    if (before === '') this.#cork(text);
    else if (before.length + text.length > MAX_PAST_STREAM) {
      this.#uncork();
      this.#cork(text);
    } else this.#corked = (typeof before === 'string' ? before : before.toString('latin1')) + text;
  }

  /** Writes without a copy what must never change. */
  writeKept(bytes: Buffer): void {
    if (this.#corked === '') this.#cork(bytes);
    else this.writeText(bytes.toString('latin1'));
  }

  #cork(what: string | Buffer): void {
    if (corked.push(this) === 1) setImmediate(SocketTransport.#uncorkAll);
    this.#corked = what;
  }

  writeBytes(chunk: Buffer): void {
    if (chunk.length <= SMALL_BYTES) {
      this.writeText(chunk.toString('latin1'));
      return;
    }
    this.#uncork();
    const copy = spare.pop() ?? Buffer.allocUnsafeSlow(readBuffer.length);
    const size = chunk.copy(copy);
    this.#usesStream = true;
    this.socket.write(copy.subarray(0, size), () => {
      if (spare.length < MAX_SPARE) spare.push(copy);
      this.#onWritten();
    });
    if (size < chunk.length) this.writeBytes(chunk.subarray(size));
  }

  /** Writes without a copy: the chunk must not change any more. */
  writeOwned(chunk: Buffer): void {
    this.flush();
    this.#usesStream = true;
    this.socket.write(chunk, this.#onWritten);
  }

  /** Writes now what would be written at the end of this turn of the event loop. */
  flush(): void {
    this.#uncork();
  }

  pause(): void {
    this.#isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumeReading();
  }

  readOn(): void {
    this.#isResting = false;
    this.#resumeReading();
  }

  #resumeReading(): void {
    if (!this.#isPaused && !this.#isResting && !this.socket.destroyed) this.socket.resume();
  }

  end(): void {
    this.#uncork();
    this.#usesStream = true;
    this.socket.end();
  }

  closeSoon(): void {
    this.#uncork();
    this.#usesStream = true;
    this.socket.end(() => this.socket.destroy());
  }

  keepAlive(): void {
    this.socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
  }

  destroy(): void {
    this.#uncork();
    this.socket.destroy();
  }

  /** Returns an ordinary socket for the connection, which reads `unread` first. The transport is unusable afterwards. */
  release(unread: Buffer): Socket {
    this.#uncork();
    this.reader = noReader;
    this.socket.off('close', this.#onClose);
    const watchers = this.socket.listeners('close');
    this.socket.removeAllListeners();
    for (const watcher of watchers) this.socket.on('close', watcher as () => void);
    this.socket.on('error', () => {}); // of a write that has just failed: unhandled, it would end the process
    const socket = this.#isShared ? takeOverCopying(this.socket) : this.socket.pause();
    socket.unshift(unread);
    return socket;
  }

  static #uncorkAll(): void {
    const wires = corked;
    corked = [];
    for (const transport of wires) transport.#uncork();
  }

  #uncork(): void {
    const what = this.#corked;
    if (what === '') return;
    this.#corked = '';
    const handle = handleOf(this.socket);
    if (handle !== null && this.#mayPassStream(what)) this.#writePastStream(handle, what);
    else if (!this.socket.destroyed) this.#writeToStream(what);
  }

  #writeToStream(what: string | Buffer): void {
    if (streamBinding === null) SocketTransport.onFallback();
    this.#usesStream = true;
    if (typeof what === 'string') this.socket.write(what, 'latin1', this.#onWritten);
    else this.socket.write(what, this.#onWritten);
  }

  /** Only when nothing is pending: handle and stream each keep the order of their own writes only. */
  #mayPassStream({ length }: string | Buffer): boolean {
    if (!this.#isShared || streamBinding === null || this.#pendingChars > 0 || length > MAX_PAST_STREAM) return false;
    if (!this.#usesStream) return true;
    const { writableLength, writableEnded, destroyed } = this.socket;
    if (writableLength > 0 || writableEnded || destroyed) return false;
    this.#usesStream = false;
    return true;
  }

  /**
   * Makes the call that the stream would make in the end. Mostly the kernel takes everything at once, and there is nothing
   * to wait for. What it does not take is pending in the handle, before later writes, and counts for `isFull`.
   */
  #writePastStream(handle: Handle, what: string | Buffer): void {
    const { WriteWrap, streamBaseState, kLastWriteWasAsync } = streamBinding!;
    const request = spareRequest ?? new WriteWrap();
    const isText = typeof what === 'string';
    const code = isText ? handle.writeLatin1String(request, what) : handle.writeBuffer(request, what);
    const isPending = code === 0 && streamBaseState[kLastWriteWasAsync] !== 0;
    spareRequest = isPending ? null : request;
    if (code !== 0) this.#failWrite(code);
    if (!isPending) return;
    this.#pendingChars = what.length;
    if (!isText) request.bytes = what;
    request.oncomplete = (status) => {
      this.#pendingChars = 0;
      if (this.socket.destroyed) return;
      if (status < 0) this.#failWrite(status);
      else this.#onWritten();
    };
  }

  /** The same for node, which would stop reading for any answer but true. */
  #deliverAll(size: number): boolean {
    this.#deliver(size);
    return true;
  }

  #failWrite(status: number): void {
    const code = getSystemErrorName(status);
    this.socket.destroy(Object.assign(new Error(`write ${code}`), { code }));
  }

  #deliver(size: number): void {
    if (size >= BULK_BYTES && !this.#isResting && !mayReadOn(this)) {
      this.#isResting = true;
      this.socket.pause();
    }
    enterRead();
    try {
      this.reader.onBytes(viewOf(size));
    } finally {
      leaveRead();
    }
  }
}

/** Takes over a connection whose handle reads into the shared buffer, copying each read for readers that keep it. */
function takeOverCopying(old: Socket): Socket {
  let socket: Socket;
  const callback = (size: number) => socket.push(Buffer.from(viewOf(size)));
  socket = takeOver(old, { onread: { buffer: readBuffer, callback } });
  return socket;
}

import { connect, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { getSystemErrorName } from 'node:util';
import type { Wire, WireReader } from './client-exchange.ts';

const READ_BYTES = 262_144;
/** Up to here a copy comes from node's own pool. */
const SMALL_BYTES = 4096;
const MAX_SPARE = 32;
/** Up to here node tries to write at once from the stack. */
const MAX_PAST_STREAM = 16_384;
const MAX_VIEWS = 2048;
const KEEP_ALIVE_AFTER_MS = 60_000;

/** Every read goes in here: it is used up, or copied, before the next one. A buffer for each would cost a quarter of all time. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
/** Its beginnings, by length: short reads are most of all, and making a view costs as much as finding the end of a head. */
const views: (Buffer | undefined)[] = new Array<Buffer | undefined>(MAX_VIEWS).fill(undefined);

/**
 * Copies of what was read go out of these, and come back when they are written. A new buffer for each piece of a large body
 * would have the collector run all the time, and grow the process by a hundred megabytes.
 */
const spare: Buffer[] = [];

/** What node does not document: the kernel's side of a socket, which another Socket can take over. */
interface HandleHolder {
  _handle: { writeLatin1String(request: WriteRequest, text: string): number } | null;
}

/** What a handle needs for a write, and keeps only if the kernel does not take all of it at once. */
interface WriteRequest {
  oncomplete?: (status: number) => void;
}

interface StreamBinding {
  WriteWrap: new () => WriteRequest;
  streamBaseState: Int32Array;
  kLastWriteWasAsync: number;
}

/** Null in a node that has it no more: then all is written through streams. */
const binding = findBinding();
let spareRequest: WriteRequest | null = null;

const noReader: WireReader = { onBytes() {}, onEnd() {}, onDrain() {}, onClosed() {} };

/** A TCP or TLS connection whose reads cost no memory of their own while nobody waits. */
export class SocketWire implements Wire {
  reader: WireReader = noReader;
  readonly socket: Socket;
  #error: Error | null = null;
  readonly #isShared: boolean;
  /** Characters that went past the stream and that the kernel has not all taken. */
  #waiting = 0;

  /** The connection is opened; `onConnect` is called when it stands. */
  static connect(options: { address: string; port: number; onConnect: () => void }): SocketWire {
    let wire: SocketWire;
    const socket = connect({
      host: options.address,
      port: options.port,
      noDelay: true,
      allowHalfOpen: true,
      onread: { buffer: readBuffer, callback: (size) => wire.#deliver(size) },
    });
    socket.once('connect', options.onConnect);
    wire = new SocketWire(socket, true);
    return wire;
  }

  /** A connection that a server made with `pauseOnConnect` has accepted. */
  static accept(accepted: Socket): SocketWire {
    if (accepted instanceof TLSSocket) {
      const wire = new SocketWire(accepted, false);
      accepted.on('data', (chunk: Buffer) => wire.reader.onBytes(chunk));
      return wire;
    }
    let wire: SocketWire;
    const onread = { buffer: readBuffer, callback: (size: number) => wire.#deliver(size) };
    wire = new SocketWire(takeOver(accepted, { onread }), true);
    return wire;
  }

  private constructor(socket: Socket, isShared: boolean) {
    this.socket = socket;
    this.#isShared = isShared;
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('end', () => this.reader.onEnd());
    socket.on('drain', () => this.reader.onDrain());
    socket.on('close', () => this.reader.onClosed(this.#error));
  }

  get isFull(): boolean {
    return this.#waiting + this.socket.writableLength >= this.socket.writableHighWaterMark;
  }

  get isClosed(): boolean {
    return this.socket.destroyed;
  }

  writeText(text: string): void {
    if (this.#mayPassStream(text)) this.#writePastStream(text);
    else this.socket.write(text, 'latin1');
  }

  writeBytes(chunk: Buffer): void {
    if (chunk.length <= SMALL_BYTES) {
      this.socket.write(Buffer.from(chunk));
      return;
    }
    const copy = spare.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES);
    const size = chunk.copy(copy);
    this.socket.write(copy.subarray(0, size), () => {
      if (spare.length < MAX_SPARE) spare.push(copy);
    });
    if (size < chunk.length) this.writeBytes(chunk.subarray(size));
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.socket.end();
  }

  closeSoon(): void {
    this.socket.end(() => this.socket.destroy());
  }

  keepAlive(): void {
    this.socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** An ordinary socket for the same connection, with `unread` before what is still to come. The wire is dead afterwards. */
  release(unread: Buffer): Socket {
    this.reader = noReader;
    this.socket.removeAllListeners();
    const socket = this.#isShared ? takeOver(this.socket, {}) : this.socket.pause();
    socket.unshift(unread);
    return socket;
  }

  /** Only when nothing waits: the handle keeps the order of what it was given, the stream of what it was. */
  #mayPassStream(text: string): boolean {
    const { socket } = this;
    return (
      this.#isShared &&
      binding !== null &&
      this.#waiting === 0 &&
      socket.writableLength === 0 &&
      !socket.writableEnded &&
      !socket.destroyed &&
      text.length <= MAX_PAST_STREAM
    );
  }

  /**
   * The same call that the stream would make in the end. The kernel mostly takes all at once; then nothing is left to be told.
   * What it does not take waits in the handle, before anything that is written later, and counts as `isFull` counts.
   */
  #writePastStream(text: string): void {
    const { WriteWrap, streamBaseState, kLastWriteWasAsync } = binding!;
    const request = spareRequest ?? new WriteWrap();
    const code = (this.socket as unknown as HandleHolder)._handle!.writeLatin1String(request, text);
    const waits = code === 0 && streamBaseState[kLastWriteWasAsync] !== 0;
    spareRequest = waits ? null : request;
    if (code !== 0) this.#failWrite(code);
    if (!waits) return;
    this.#waiting = text.length;
    request.oncomplete = (status) => {
      this.#waiting = 0;
      if (this.socket.destroyed) return;
      if (status < 0) this.#failWrite(status);
      else if (!this.socket.writableNeedDrain) this.reader.onDrain();
    };
  }

  #failWrite(status: number): void {
    const code = getSystemErrorName(status);
    this.socket.destroy(Object.assign(new Error(`write ${code}`), { code }));
  }

  #deliver(size: number): boolean {
    this.reader.onBytes(viewOf(size));
    return true;
  }
}

function viewOf(size: number): Buffer {
  if (size >= MAX_VIEWS) return readBuffer.subarray(0, size);
  views[size] ??= readBuffer.subarray(0, size);
  return views[size];
}

function findBinding(): StreamBinding | null {
  try {
    const { WriteWrap, streamBaseState, kLastWriteWasAsync } = (
      process as unknown as { binding(name: string): Partial<StreamBinding> }
    ).binding('stream_wrap');
    if (!WriteWrap || !streamBaseState || kLastWriteWasAsync === undefined) return null;
    return { WriteWrap, streamBaseState, kLastWriteWasAsync };
  } catch {
    return null;
  }
}

/**
 * A new Socket for the connection of an old one. It is the only way to give `onread` to a connection that a server has
 * accepted: node offers it to clients alone. The old Socket is closed without its connection.
 */
function takeOver(old: Socket, options: { onread?: { buffer: Buffer; callback: (size: number) => boolean } }): Socket {
  const holder = old as unknown as HandleHolder;
  const handle = holder._handle;
  holder._handle = null;
  old.destroy();
  const init: object = { handle, allowHalfOpen: true, ...options };
  return new Socket(init);
}

/** Frames of WebSocket connections (RFC 6455), for both sides. Extensions are not supported. */
import { randomBytes } from 'node:crypto';

export type WebSocketMessage =
  | { kind: 'text'; text: string }
  | { kind: 'binary' | 'ping' | 'pong'; bytes: Buffer }
  | { kind: 'close'; code: number | null };

/** A frame that the peer must not send. `code`: for the close frame. */
export class BadFrame extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'BadFrame';
    this.code = code;
  }
}

export const CLOSE_NORMAL = 1000;
export const CLOSE_GOING_AWAY = 1001;
export const CLOSE_PROTOCOL_ERROR = 1002;
const CLOSE_INVALID = 1007;
export const CLOSE_POLICY = 1008;
export const CLOSE_TOO_BIG = 1009;
export const CLOSE_INTERNAL = 1011;

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const CONTROL = 8;
const MAX_CONTROL_BYTES = 125;
const MASK_BYTES = 4;
/** Frames of a message; more are only a way to make small frames costly. */
const MAX_FRAGMENTS = 1_024;

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

interface Head {
  isFinal: boolean;
  opcode: number;
  length: number;
  mask: Buffer | null;
  /** Bytes of the head. */
  bytes: number;
}

/** Reads frames from chunks and joins fragments. Holds at most one message. Copies what it returns. */
export class FrameReader {
  readonly #isMasked: boolean;
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #neededBytes = 2;
  #fragments: Buffer[] = [];
  #fragmentBytes = 0;
  #fragmentKind: typeof TEXT | typeof BINARY | null = null;

  /** `isMasked`: the frames of a client are, those of a server are not. */
  constructor(options: { isMasked: boolean; maxMessageBytes: number }) {
    this.#isMasked = options.isMasked;
    this.#maxBytes = options.maxMessageBytes;
  }

  /** Yields the messages that end within this chunk, which is valid only during the call. Throws BadFrame. */
  *take(chunk: Buffer): Generator<WebSocketMessage> {
    this.push(chunk);
    for (let message = this.next(); message; message = this.next()) yield message;
  }

  /** Holds a chunk, which is valid only during the call, for `next`. */
  push(chunk: Buffer): void {
    this.#held.push(Buffer.from(chunk));
    this.#heldBytes += chunk.length;
  }

  /** Returns the next message of what is held; undefined when more bytes are needed. Throws BadFrame. */
  next(): WebSocketMessage | undefined {
    while (this.#heldBytes >= this.#neededBytes) {
      const data = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
      const message = this.#frame(data);
      if (message === 'incomplete') {
        this.#held = [data];
        return undefined;
      }
      if (message) return message;
    }
    return undefined;
  }

  /** Takes one frame. Returns undefined for a fragment. */
  #frame(data: Buffer): WebSocketMessage | undefined | 'incomplete' {
    const head = readHead(data);
    if (typeof head === 'number') {
      this.#neededBytes = head;
      return 'incomplete';
    }
    this.#check(head);
    const end = head.bytes + head.length;
    if (data.length < end) {
      this.#neededBytes = end;
      return 'incomplete';
    }
    const payload = Buffer.from(data.subarray(head.bytes, end));
    if (head.mask) unmask(payload, head.mask);
    const rest = data.subarray(end);
    this.#held = rest.length > 0 ? [rest] : [];
    this.#heldBytes = rest.length;
    this.#neededBytes = 2;
    return head.opcode >= CONTROL ? controlMessage(head.opcode, payload) : this.#data(head, payload);
  }

  #check({ isFinal, opcode, length, mask }: Head): void {
    if ((mask !== null) !== this.#isMasked) throw new BadFrame(CLOSE_PROTOCOL_ERROR, 'a frame is masked wrongly');
    if (opcode >= CONTROL) {
      if (![CLOSE, PING, PONG].includes(opcode) || !isFinal || length > MAX_CONTROL_BYTES) {
        throw new BadFrame(CLOSE_PROTOCOL_ERROR, 'a control frame is not valid');
      }
      return;
    }
    if (opcode > BINARY || (opcode === CONTINUATION) !== (this.#fragmentKind !== null)) {
      throw new BadFrame(CLOSE_PROTOCOL_ERROR, 'a frame is out of order');
    }
    if (this.#fragmentBytes + length > this.#maxBytes || this.#fragments.length >= MAX_FRAGMENTS) {
      throw new BadFrame(CLOSE_TOO_BIG, `a message is larger than ${this.#maxBytes} bytes`);
    }
  }

  #data({ isFinal, opcode }: Head, payload: Buffer): WebSocketMessage | undefined {
    const kind = this.#fragmentKind ?? (opcode as typeof TEXT | typeof BINARY);
    if (!isFinal) {
      this.#fragmentKind = kind;
      this.#fragments.push(payload);
      this.#fragmentBytes += payload.length;
      return undefined;
    }
    const bytes = this.#fragments.length === 0 ? payload : Buffer.concat([...this.#fragments, payload]);
    this.#fragmentKind = null;
    this.#fragments = [];
    this.#fragmentBytes = 0;
    return kind === TEXT ? { kind: 'text', text: decode(bytes) } : { kind: 'binary', bytes };
  }
}

/** Returns the number of bytes that it needs when there are too few. Throws BadFrame. */
function readHead(data: Buffer): Head | number {
  const [first, second] = [data[0]!, data[1]!];
  if ((first & 0x70) !== 0) throw new BadFrame(CLOSE_PROTOCOL_ERROR, 'a frame uses an extension');
  const short = second & 0x7f;
  const isMasked = (second & 0x80) !== 0;
  const lengthBytes = { 126: 2, 127: 8 }[short] ?? 0;
  const bytes = 2 + lengthBytes + (isMasked ? MASK_BYTES : 0);
  if (data.length < bytes) return bytes;
  const length = lengthBytes === 0 ? short : lengthBytes === 2 ? data.readUInt16BE(2) : readLength(data);
  const mask = isMasked ? Buffer.from(data.subarray(bytes - MASK_BYTES, bytes)) : null;
  return { isFinal: (first & 0x80) !== 0, opcode: first & 0x0f, length, mask, bytes };
}

function readLength(data: Buffer): number {
  const length = data.readBigUInt64BE(2);
  if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw new BadFrame(CLOSE_TOO_BIG, 'a frame is too large');
  return Number(length);
}

function controlMessage(opcode: number, bytes: Buffer): WebSocketMessage {
  if (opcode === CLOSE) return { kind: 'close', code: bytes.length >= 2 ? bytes.readUInt16BE(0) : null };
  return { kind: opcode === PING ? 'ping' : 'pong', bytes };
}

function decode(bytes: Buffer): string {
  try {
    return DECODER.decode(bytes);
  } catch {
    throw new BadFrame(CLOSE_INVALID, 'a text message is not UTF-8');
  }
}

function unmask(bytes: Buffer, mask: Buffer): void {
  for (let i = 0; i < bytes.length; i++) bytes[i]! ^= mask[i & 3]!;
}

/** Returns the frame of a whole message. `isMasked`: for a server to read. */
export function encodeFrame(message: WebSocketMessage, isMasked = false): Buffer {
  const payload = payloadOf(message);
  const { length } = payload;
  const lengthBytes = length > 0xffff ? 8 : length > 125 ? 2 : 0;
  const start = 2 + lengthBytes + (isMasked ? MASK_BYTES : 0);
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = 0x80 | OPCODES[message.kind];
  frame[1] = (isMasked ? 0x80 : 0) | (lengthBytes === 8 ? 127 : lengthBytes === 2 ? 126 : length);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  payload.copy(frame, start);
  if (isMasked) {
    const mask = randomBytes(MASK_BYTES);
    mask.copy(frame, start - MASK_BYTES);
    unmask(frame.subarray(start), mask);
  }
  return frame;
}

const OPCODES: Record<WebSocketMessage['kind'], number> = {
  text: TEXT,
  binary: BINARY,
  close: CLOSE,
  ping: PING,
  pong: PONG,
};

function payloadOf(message: WebSocketMessage): Buffer {
  if (message.kind === 'text') return Buffer.from(message.text);
  if (message.kind !== 'close') return message.bytes;
  if (message.code === null) return Buffer.alloc(0);
  const code = Buffer.alloc(2);
  code.writeUInt16BE(message.code);
  return code;
}

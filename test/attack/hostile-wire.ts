import { connect, type Socket } from 'node:net';

/** How a request is sent. `cutAt`: the client disconnects after so many bytes. `pieces`: sizes of its first packets. */
export interface Manner {
  cutAt: number | null;
  pieces: readonly number[];
  /** The client ends its side after the request. */
  endsHalf: boolean;
}

/** The answer on a connection. */
export interface WireAnswer {
  statuses: number[];
  text: string;
}

/** A request without an answer must have one by now. */
const ANSWER_WITHIN_MS = 20_000;
const KEPT_CHARS = 20_000;
const STATUS_LINE = /HTTP\/1\.[01] (\d{3}) /g;

/**
 * Sends bytes on a connection of their own, and resolves with what came back once the server has closed it, has answered and
 * is silent, or the client gave up after `patienceMs`; null: there must be an answer in time.
 */
export function sendRaw(port: number, bytes: Buffer, manner: Manner, patienceMs: number | null): Promise<WireAnswer> {
  return new Promise((resolve) => {
    let text = '';
    let quiet: NodeJS.Timeout | undefined;
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    const end = () => {
      clearTimeout(quiet);
      clearTimeout(limit);
      socket.destroy();
      resolve({ statuses: statusesIn(text), text });
    };
    const limit = setTimeout(end, patienceMs ?? ANSWER_WITHIN_MS);
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      if (text.length < KEPT_CHARS) text += chunk;
      clearTimeout(quiet);
      quiet = setTimeout(end, isWhole(text) ? 2 : 60);
    });
    socket.on('error', end).on('close', end).on('end', end);
    socket.on('connect', () => void write(socket, bytes, manner, end));
  });
}

async function write(socket: Socket, bytes: Buffer, manner: Manner, end: () => void): Promise<void> {
  const sent = manner.cutAt === null ? bytes : bytes.subarray(0, manner.cutAt);
  let at = 0;
  for (const size of manner.pieces) {
    if (at >= sent.length) break;
    socket.write(sent.subarray(at, at + size));
    at += size;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const rest = sent.subarray(at);
  if (manner.cutAt !== null) socket.write(rest, () => setTimeout(end, 1));
  else if (manner.endsHalf) socket.end(rest);
  else socket.write(rest);
}

/** True when a response with a Content-Length, or of chunks, has come to its end. */
function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const head = text.slice(0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head);
  return length ? text.length >= headEnd + 4 + Number(length[1]) : text.endsWith('\r\n0\r\n\r\n');
}

/** The statuses of final responses. Bodies may quote a request, but contain no status line at the start of a line. */
function statusesIn(text: string): number[] {
  return [...text.matchAll(STATUS_LINE)].map((match) => Number(match[1])).filter((status) => status >= 200);
}

import { PassThrough, Writable } from 'node:stream';
import { type ApiClient, ApiRefusal, isScopeMissing } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { showRecords } from '../shared/show-records.ts';
import { explainUnreachable } from '../shared/unreachable.ts';
import type { Column } from '../terminal/table.ts';

/** How a session ended: the program's exit code, or why it was ended. */
export interface SessionEnd {
  code: number | null;
  reason: string | null;
}

export interface SessionRequest {
  command?: string[];
  terminal: { columns: number; rows: number } | null;
  input: boolean;
}

/** Where a program runs: in a pod, or in a worker of an endpoint, any that runs by default. */
export type SessionPlace = { podId: string } | { endpointId: string; workerId?: string };

/** The most that the protocol lets a side send before it is acknowledged (docs/interface/terminals.md, "Flow control"). */
const WINDOW_BYTES = 256 * 1024;
const NEEDS_SCOPE =
  'this needs a key with the scope exec, which all does not include; the operator can make one: `podyard keys create --scope all exec`';
const CHUNK_BYTES = 32 * 1024;
const [INPUT, OUTPUT] = [0, 1];

/** Starts a program in a pod or worker. Throws the server's refusal. */
export async function openSession(
  client: ApiClient,
  place: SessionPlace,
  request: SessionRequest,
): Promise<RemoteSession> {
  const { protocols } = await requestSession(client, place, request).catch((error) => {
    throw isScopeMissing(error) ? new ApiRefusal(403, `access denied: ${NEEDS_SCOPE}`) : error;
  });
  const url = `${client.target.url.replace(/^http/, 'ws')}/v2/account/terminals/connect`;
  const session = new RemoteSession(new WebSocket(url, protocols));
  await session.opened.catch((cause) => {
    throw new Error(explainUnreachable(client.target.url, cause, {}), { cause });
  });
  return session;
}

function requestSession(client: ApiClient, place: SessionPlace, request: SessionRequest) {
  if ('podId' in place) {
    return client.call('post', '/v2/pods/{id}/terminals', { path: { id: place.podId }, body: request });
  }
  const { endpointId: id, ...worker } = place;
  return client.call('post', '/v2/serverless/{id}/terminals', { path: { id }, body: { ...request, ...worker } });
}

/** A program that runs elsewhere. Streams that are not read pause it. */
export class RemoteSession {
  readonly output = new PassThrough();
  readonly errors = new PassThrough();
  readonly input: Writable;
  readonly opened: Promise<void>;
  /** Resolves when the program has ended and everything that it printed is in the streams. */
  readonly ended: Promise<SessionEnd>;
  onNotice: (text: string) => void = () => {};
  readonly #socket: WebSocket;
  readonly #finish: (end: SessionEnd) => void;
  #unacked = 0;
  #resume: (() => void) | null = null;
  #end: SessionEnd | null = null;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    this.opened = new Promise((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error('the connection could not be opened'));
    });
    const { promise, resolve } = Promise.withResolvers<SessionEnd>();
    this.ended = promise;
    this.#finish = (end) => {
      this.#close();
      resolve(this.#end ?? end);
    };
    socket.onclose = () => this.#finish({ code: null, reason: 'the connection to the server was lost' });
    this.input = new Writable({
      write: (chunk: Buffer, _encoding, done) => void this.#sendInput(chunk).then(() => done(), done),
      final: (done) => {
        this.#send({ type: 'eof' });
        done();
      },
    });
    this.input.on('error', () => {}); // the program has ended
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') this.#onMessage(JSON.parse(data));
      else this.#onData(Buffer.from(data as ArrayBuffer));
    };
  }

  resize(size: { columns: number; rows: number }): void {
    this.#send({ type: 'resize', ...size });
  }

  signal(name: string): void {
    this.#send({ type: 'signal', name });
  }

  /** Ends the program. */
  close(): void {
    this.#socket.close();
  }

  /** The same without waiting for an answer of the server, which may be out of reach. */
  abandon(reason: string): void {
    this.#socket.close();
    this.#finish({ code: null, reason });
  }

  #onMessage(message: { type: string; bytes: number; text: string } & SessionEnd): void {
    if (message.type === 'ack') {
      this.#unacked -= message.bytes;
      this.#resume?.();
    } else if (message.type === 'notice') this.onNotice(message.text);
    else if (message.type === 'exit') this.#end = { code: message.code, reason: message.reason };
  }

  #onData(data: Buffer): void {
    const bytes = data.subarray(1);
    const stream = data[0] === OUTPUT ? this.output : this.errors;
    stream.write(bytes, () => this.#send({ type: 'ack', bytes: bytes.length }));
  }

  async #sendInput(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += CHUNK_BYTES) {
      const bytes = chunk.subarray(at, at + CHUNK_BYTES);
      while (this.#unacked + bytes.length > WINDOW_BYTES && this.#isOpen) {
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
      }
      if (!this.#isOpen) throw new Error('the program has ended');
      this.#unacked += bytes.length;
      this.#socket.send(Buffer.concat([Buffer.of(INPUT), bytes]));
    }
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  #send(message: object): void {
    if (this.#isOpen) this.#socket.send(JSON.stringify(message));
  }

  #close(): void {
    this.#resume?.();
    this.output.end();
    this.errors.end();
    this.input.destroy();
  }
}

const COLUMNS: readonly Column<Schemas['TerminalSession']>[] = [
  ['ID', ({ id }) => id],
  ['USER', ({ userName }) => userName],
  ['KEY', ({ keyName }) => keyName],
  ['IN', ({ podId, workerId }) => (podId === null ? `worker ${workerId}` : `pod ${podId}`)],
  ['PROGRAM', ({ program }) => program],
  ['FROM', ({ clientAddress }) => clientAddress],
  ['OPENED', ({ openedAt }) => openedAt],
  ['SECONDS', ({ openedAt, endedAt }) => openedAt && endedAt && secondsBetween(openedAt, endedAt)],
  ['STATUS', ({ status }) => status.toLowerCase()],
  ['END', ({ exitCode, endReason }) => endReason ?? (exitCode === null ? null : `exit code ${exitCode}`)],
];

function secondsBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / 1000);
}

/** Lists the sessions of programs in a pod or worker, with their users. */
export async function showSessions(
  client: ApiClient,
  { isOfAll, isJson }: { isOfAll: boolean; isJson: boolean },
  output: CliOutput,
): Promise<void> {
  const query = isOfAll ? ({ user: 'all' } as const) : {};
  const { terminals } = await client.call('get', '/v2/account/terminals', { query });
  const none = 'There are no sessions. Open one: `podyard exec <pod>`.';
  showRecords(terminals, { columns: COLUMNS, none }, isJson, output);
}

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { addAbortSignal, type Duplex, pipeline, type Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { Failure, messageOf } from '../core/errors.ts';
import { Agent, refuseUpgrade, request } from '../core/node-http.ts';
import { type EngineAddress, readEngineAddress } from './engine-address.ts';
import { type EngineKind, type EngineVersion, kindOf } from './engine-kind.ts';
import { Refusal } from './refusal.ts';
import { SshAgent } from './ssh-agent.ts';

/** A refusal of the engine. `message` is the engine's own. */
export class EngineError extends Refusal {
  override readonly name = 'EngineError';
}

export interface EngineRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** Starts with a slash, without a query. */
  path: string;
  query?: Record<string, unknown>;
  body?: object;
  /** In place of the usual ones. */
  headers?: Readonly<Record<string, string | readonly string[]>>;
  /** A tar archive to send instead of `body`. */
  archive?: Readable;
  auth?: { username: string; password: string; serverAddress: string };
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** How a request resolves: with the parsed body, the body as a stream, or the connection. */
type AnswerKind = 'json' | 'stream' | 'connection';

const TIMEOUT_MS = 30_000;
const READ_TRIES = 10;
/** The status for a container that is already as wanted. */
const UNCHANGED = 304;
/** Podman's error when a container or image is removed while it lists them, also by another client. */
const GONE_MEANWHILE = /no such container|image not known/i;

/**
 * Requests to the API of a Docker Engine or Podman. Each has a timeout up to its response; a stream may continue after it.
 * Rejects with an EngineError when the engine refuses, and with a Failure `unavailable` when it cannot be reached.
 */
export class Engine {
  readonly #address: EngineAddress | undefined;
  #connector: Connector | undefined;
  #kind: Promise<EngineKind> | undefined;

  /** The path of a socket, or an address; undefined: where DOCKER_HOST says, or the usual socket. */
  constructor(address: string | EngineAddress | undefined) {
    this.#address = typeof address === 'string' ? { socketPath: address } : address;
  }

  /** Resolves with the parsed JSON body. */
  async json<T>(request: EngineRequest): Promise<T> {
    const read = () => this.#send(request, 'json') as Promise<T>;
    return request.method === 'GET' ? untilThere(read, ({ status }) => status === 500) : read();
  }

  /** Resolves with a list of containers or images. */
  list<T>(path: '/containers/json' | '/images/json', query: Record<string, unknown>): Promise<T[]> {
    return untilThere(
      () => this.#send({ method: 'GET', path, query }, 'json') as Promise<T[]>,
      () => true,
    );
  }

  /** Resolves with the body as a stream. The caller reads or destroys it; aborting `signal` destroys it too. */
  async stream(request: EngineRequest): Promise<Readable> {
    return (await this.#send(request, 'stream')) as Readable;
  }

  /** Resolves with the connection itself, which the request turns into one for a program's input and output. */
  async hijack(request: EngineRequest): Promise<Duplex> {
    return (await this.#send(request, 'connection')) as Duplex;
  }

  /** Which engine answers. Asks once. */
  kind(): Promise<EngineKind> {
    this.#kind ??= this.json<EngineVersion>({ method: 'GET', path: '/version' }).then(kindOf, (error) => {
      this.#kind = undefined;
      throw error;
    });
    return this.#kind;
  }

  async close(): Promise<void> {
    (this.#connector?.options.agent as Agent | undefined)?.destroy();
  }

  async #send(request: EngineRequest, as: AnswerKind): Promise<unknown> {
    this.#connector ??= connectorTo(this.#address ?? readEngineAddress());
    const connector = this.#connector;
    const limit = new AbortController();
    const timeoutMs = request.timeoutMs ?? TIMEOUT_MS;
    const timer = setTimeout(() => limit.abort(), timeoutMs);
    try {
      return await dial(connector, request, as, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted) throw translate(error);
      const text = `The container engine did not answer within ${timeoutMs / 1000} s (${request.method} ${request.path})`;
      throw new Failure('unavailable', text, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}

interface Connector {
  send: typeof request;
  options: RequestOptions;
}

function connectorTo(address: EngineAddress): Connector {
  if ('socketPath' in address) return { send: request, options: { ...address, agent: new Agent({ keepAlive: true }) } };
  const { host, port } = address;
  if ('ssh' in address) return { send: request, options: { agent: new SshAgent({ host, port, ...address.ssh }) } };
  if (address.tls === null) return { send: request, options: { host, port, agent: new Agent({ keepAlive: true }) } };
  const https = process.getBuiltinModule('node:https');
  return { send: https.request, options: { host, port, agent: new https.Agent({ keepAlive: true, ...address.tls }) } };
}

/**
 * Sends a request, and resolves as `as` says. Redirects are refusals: the engine answers an unclean path (an empty component, `..`)
 * with one, which could name any host.
 */
async function dial(connector: Connector, wanted: EngineRequest, as: AnswerKind, limit: AbortSignal): Promise<unknown> {
  const signal = wanted.signal ? AbortSignal.any([wanted.signal, limit]) : limit;
  const { method, path, query, archive } = wanted;
  const body = method === 'POST' && !archive && wanted.body ? JSON.stringify(wanted.body) : undefined;
  const headers = headersOf(wanted, body, as);
  const outgoing = connector.send({ ...connector.options, method, path: pathOf(path, query), headers, signal });
  const answered = answerTo(outgoing, as);
  if (archive)
    pipeline(archive, outgoing, () => {}); // a failure of either is one of the request
  else outgoing.end(body);
  const answer = await answered;
  if (!('statusCode' in answer)) return answer;
  const isDone = (answer.statusCode! >= 200 && answer.statusCode! < 300) || answer.statusCode === UNCHANGED;
  if (isDone && as === 'stream') return answer;
  const value = parse(await readText(addAbortSignal(signal, answer)));
  if (isDone && as === 'json') return value;
  throw new EngineError(answer.statusCode!, refusalText(value) ?? `HTTP ${answer.statusCode}${redirectText(answer)}`);
}

/** Resolves with the response, or with the connection if the engine hands it over. */
function answerTo(outgoing: ClientRequest, as: AnswerKind): Promise<IncomingMessage | Duplex> {
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject).on('response', resolve);
    if (as !== 'connection') return void refuseUpgrade(outgoing);
    outgoing.on('upgrade', (_answer, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
  });
}

function headersOf({ auth, archive, headers }: EngineRequest, body: string | undefined, as: AnswerKind) {
  const { serverAddress: serveraddress, ...login } = auth ?? {};
  return {
    ...(archive && { 'Content-Type': 'application/x-tar' }),
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    ...(as === 'connection' && { Connection: 'Upgrade', Upgrade: 'tcp' }),
    ...(auth && { 'X-Registry-Auth': inHeader({ ...login, serveraddress }) }),
    ...headers,
  };
}

/** Encodes a value for a header: URL-safe base64 of JSON, padded, because engines refuse it without the padding. */
export function inHeader(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** The values that are objects are sent as JSON, as the API has them. */
function pathOf(path: string, query: Record<string, unknown> = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined)
        params.append(name, one !== null && typeof one === 'object' ? JSON.stringify(one) : `${one}`);
    }
  }
  return params.size === 0 ? path : `${path}?${params}`;
}

function redirectText({ headers: { location } }: IncomingMessage): string {
  return location === undefined ? '' : `, a redirect to ${location}, which is not followed`;
}

/** The value of JSON; other text as it is. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The engine's own words about a refusal; null if it has none. */
function refusalText(value: unknown): string | null {
  const { message = value } = (value ?? {}) as { message?: unknown };
  return typeof message === 'string' && message.trim() !== '' ? message.trim() : null;
}

/** Reads again while Podman refuses because something went meanwhile. `mayBe`: such a refusal can mean that. */
async function untilThere<T>(read: () => Promise<T>, mayBe: (refusal: EngineError) => boolean): Promise<T> {
  for (let left = READ_TRIES; ; left--) {
    try {
      return await read();
    } catch (error) {
      const isGone = error instanceof EngineError && GONE_MEANWHILE.test(error.message) && mayBe(error);
      if (left === 1 || !isGone) throw error;
    }
  }
}

function translate(error: unknown): unknown {
  if (error instanceof Failure || error instanceof EngineError || (error as Error).name === 'AbortError') return error;
  return new Failure('unavailable', `The container engine cannot be reached: ${messageOf(error)}`, { cause: error });
}

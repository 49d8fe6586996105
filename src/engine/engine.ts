import type { Duplex, Readable } from 'node:stream';
import { inspect } from 'node:util';
import { Failure, messageOf } from '../core/errors.ts';
import { Agent } from '../core/node-http.ts';
import { type EngineKind, type EngineVersion, kindOf } from './engine-kind.ts';
import { Refusal } from './refusal.ts';

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

/** Where an engine listens: a socket, or a host, with TLS unless it is this machine. */
export type EngineAddress = { socketPath: string } | { host: string; port: number; tls: EngineTls | null };

/** PEM: the authority of the engine's certificate, and what Podyard shows the engine. */
export interface EngineTls {
  ca: string;
  cert: string;
  key: string;
}

/** The members used of docker-modem, which supports DOCKER_HOST, TLS and ssh. */
interface Modem {
  socketPath?: unknown;
  agent?: Agent;
  dial(options: object, callback: (error: ModemError | null, answer: unknown) => void): void;
}

interface ModemError extends Error {
  statusCode?: number;
  json?: { message?: string } | null;
  code?: string;
}

/** How a request resolves: with the parsed body, the body as a stream, or the connection. */
type AnswerKind = 'json' | 'stream' | 'connection';

const TIMEOUT_MS = 30_000;
const READ_TRIES = 10;
/** Podman's error when a container or image is removed while it lists them, also by another client. */
const GONE_MEANWHILE = /no such container|image not known/i;
const SUCCESS = { 200: true, 201: true, 204: true, 304: true };

/**
 * Requests to the API of a Docker Engine or Podman. Each has a timeout up to its response; a stream may continue after it.
 * Rejects with an EngineError when the engine refuses, and with a Failure `unavailable` when it cannot be reached.
 */
export class Engine {
  readonly #address: EngineAddress | undefined;
  #modem: Promise<Modem> | undefined;
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
    (await this.#modem)?.agent?.destroy();
  }

  async #send(request: EngineRequest, as: AnswerKind): Promise<unknown> {
    this.#modem ??= this.#load();
    const modem = await this.#modem;
    const limit = new AbortController();
    const timeoutMs = request.timeoutMs ?? TIMEOUT_MS;
    const timer = setTimeout(() => limit.abort(), timeoutMs);
    try {
      return await dial(modem, request, as, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted) throw translate(error as ModemError);
      const text = `The container engine did not answer within ${timeoutMs / 1000} s (${request.method} ${request.path})`;
      throw new Failure('unavailable', text, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Loads docker-modem on the first request, because that takes tens of milliseconds. */
  async #load(): Promise<Modem> {
    const [{ default: DockerModem }, { default: http }] = await Promise.all([
      import('docker-modem'),
      // @ts-expect-error it has no types
      import('docker-modem/lib/http.js') as Promise<{ default: { maxRedirects: number } }>,
    ]);
    // The engine answers an unclean path (an empty component, `..`) with a redirect, which docker-modem would follow to any host,
    // without an error handler. Refused, it is an error of the request.
    http.maxRedirects = 0;
    const modem = new DockerModem(this.#address && modemOptions(this.#address)) as unknown as Modem;
    if (modem.socketPath !== undefined) modem.agent = new ShortAgent({ keepAlive: true });
    return modem;
  }
}

function modemOptions(address: EngineAddress): object {
  if ('socketPath' in address) return address;
  const { host, port, tls } = address;
  return { host, port, protocol: tls === null ? 'http' : 'https', ...tls };
}

/** docker-modem prints the agent of each request for its debug log, even with no such log: with all connections 4 ms. */
class ShortAgent extends Agent {
  [inspect.custom](): string {
    return 'Agent';
  }
}

function dial(modem: Modem, request: EngineRequest, as: AnswerKind, limit: AbortSignal): Promise<unknown> {
  const { auth } = request;
  const signals = request.signal ? [request.signal, limit] : [limit];
  const options = {
    path: `${request.path}?`,
    method: request.method,
    ...(request.archive && { file: request.archive }),
    options: { _query: request.query ?? {}, _body: request.body ?? {} },
    statusCodes: SUCCESS,
    isStream: as !== 'json',
    ...(request.headers && { headers: { ...request.headers } }),
    ...(as === 'connection' && { hijack: true, openStdin: request.body !== undefined }),
    abortSignal: AbortSignal.any(signals),
    authconfig: auth && { username: auth.username, password: auth.password, serveraddress: auth.serverAddress },
  };
  return new Promise((resolve, reject) => {
    modem.dial(options, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
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

function translate(error: ModemError): Error {
  if (error.statusCode !== undefined) {
    return new EngineError(error.statusCode, error.json?.message ?? error.message);
  }
  if (error.name === 'AbortError') return error;
  return new Failure('unavailable', `The container engine cannot be reached: ${messageOf(error)}`, { cause: error });
}

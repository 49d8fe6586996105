/**
 * The session of a build: a connection on which the engine asks us, by gRPC, for secrets and for credentials of registries, when
 * a step needs them. They are in no request, no archive and no file.
 */
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Engine } from '../../engine/engine.ts';
import type { BuildRequest } from '../builder.ts';
import { readText, writeTexts } from './protobuf.ts';

/** A status of gRPC. */
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

const HEALTH = '/grpc.health.v1.Health/Check';
const SECRET = '/moby.buildkit.secrets.v1.Secrets/GetSecret';
const CREDENTIALS = '/moby.filesync.v1.Auth/Credentials';

/** The engine's questions are a name long. */
const MAX_QUESTION_BYTES = 64 * 1024;
/** One byte that says it is not compressed, and four of the length. */
const PREFIX_BYTES = 5;

/** `SERVING`, as the only field of a message. */
const SERVING = Buffer.from([8, 1]);

type Answer = Buffer | { status: number; message: string };

/** The name by which the engine asks for credentials of Docker Hub. */
const HUB = 'registry-1.docker.io';

export class BuildSession {
  readonly #engine: Engine;
  readonly #given: Pick<BuildRequest, 'secrets' | 'registries'>;
  readonly #missed = new Set<string>();
  #server: Http2Server | undefined;
  #connection: Duplex | undefined;

  constructor(engine: Engine, given: Pick<BuildRequest, 'secrets' | 'registries'>) {
    this.#engine = engine;
    this.#given = given;
  }

  /** Secrets that steps asked for and that were not given. */
  get missedSecrets(): string[] {
    return [...this.#missed];
  }

  /** Offers the answers to a build that names this id as its session. */
  async open(id: string, signal: AbortSignal): Promise<void> {
    const headers = {
      Upgrade: 'h2c',
      'X-Docker-Expose-Session-Uuid': id,
      'X-Docker-Expose-Session-Name': 'podyard',
      'X-Docker-Expose-Session-Grpc-Method': [HEALTH, SECRET, CREDENTIALS],
    };
    const connection = await this.#engine.hijack({ method: 'POST', path: '/session', headers, signal });
    const server = createServer();
    this.#connection = connection;
    this.#server = server;
    connection.on('error', () => {}); // the build's own request fails when the engine is gone
    server.on('sessionError', () => {});
    server.on('stream', (stream, { ':path': path }) => {
      stream.on('error', () => {});
      this.#serve(stream, path ?? '').catch(() => stream.close());
    });
    server.emit('connection', connection);
  }

  close(): void {
    this.#connection?.destroy();
    this.#server?.close();
  }

  async #serve(stream: ServerHttp2Stream, path: string): Promise<void> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_QUESTION_BYTES) return stream.close();
      chunks.push(chunk);
    }
    answer(stream, this.#answerTo(path, Buffer.concat(chunks).subarray(PREFIX_BYTES)));
  }

  #answerTo(path: string, question: Buffer): Answer {
    if (path === HEALTH) return SERVING;
    if (path === SECRET) return this.#secret(readText(question, 1));
    if (path === CREDENTIALS) return this.#credentials(readText(question, 1));
    return { status: UNIMPLEMENTED, message: 'not offered' };
  }

  #secret(id: string): Answer {
    if (Object.hasOwn(this.#given.secrets, id)) return writeTexts({ 1: this.#given.secrets[id]! });
    this.#missed.add(id);
    return { status: NOT_FOUND, message: `there is no secret ${encodeURIComponent(id)}` };
  }

  /** Without credentials the engine pulls anonymously. */
  #credentials(host: string): Answer {
    const { registries } = this.#given;
    const name = host === HUB ? 'docker.io' : host;
    const found = Object.hasOwn(registries, name) ? registries[name] : undefined;
    return found ? writeTexts({ 1: found.username, 2: found.password }) : Buffer.alloc(0);
  }
}

function answer(stream: ServerHttp2Stream, what: Answer): void {
  const isRefusal = !Buffer.isBuffer(what);
  const status = { 'grpc-status': isRefusal ? what.status : 0, ...(isRefusal && { 'grpc-message': what.message }) };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(status));
  if (isRefusal) return void stream.end();
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(what.length, 1);
  stream.end(Buffer.concat([prefix, what]));
}

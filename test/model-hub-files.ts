import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelUse, PinnedModel } from '../src/domain/models/pinned-model.ts';

/** How the stand-in misbehaves; each part for the path of a file, or for all with `*`. */
export interface HubFaults {
  /** Connections end after this share of what they were to send, so many times; then the path has other faults. */
  cut?: { share: number; times: number; next?: HubFaults };
  /** Answers 200 with a page. */
  isPage?: boolean;
  /** Sends other bytes of the same size. */
  isChanged?: boolean;
  /** Says that a large file has another digest. */
  isReplaced?: boolean;
  /** Redirects to the same file of the model with this name, as after it was renamed. */
  renamedTo?: string;
  /** The status of every answer. */
  status?: number;
  /** Sends no byte of a body until it resolves. */
  until?: Promise<unknown>;
  /** Sends the first half, then waits. */
  halfUntil?: Promise<unknown>;
  /** Sends so many bytes at a time, for as long as somebody listens. */
  drip?: { bytes: number; everyMs: number };
}

interface HubFile {
  content: Buffer;
  isLarge: boolean;
}

/**
 * Answers `resolve` of one commit as the public hub does: small files at once, large ones by a redirect to a CDN at another port,
 * with the headers that its clients read. Counts what it sends.
 */
export class ModelHubFiles {
  url = '';
  /** Bytes of bodies, by path. */
  readonly sent = new Map<string, number>();
  /** Requests for files at the hub itself: method, path, range, authorization. */
  readonly asked: { path: string; range: string | undefined; token: string | undefined }[] = [];
  /** `Authorization` headers that reached the CDN. */
  readonly leaked: string[] = [];
  readonly faults = new Map<string, HubFaults>();
  /** Tokens that may read; null: everybody may. */
  tokens: Set<string> | null = null;
  readonly commit = createHash('sha1').update(randomBytes(8)).digest('hex');
  readonly #files = new Map<string, HubFile>();
  readonly #servers: Server[] = [];
  #cdn = '';

  static async start(): Promise<ModelHubFiles> {
    const hub = new ModelHubFiles();
    hub.#cdn = await hub.#listen((request, response) => hub.#serveCdn(request, response));
    hub.url = await hub.#listen((request, response) => hub.#serveHub(request, response));
    return hub;
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  }

  /** Bytes of all bodies. */
  get sentBytes(): number {
    return [...this.sent.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Adds a repository and returns what a release pins of it. A file is large (LFS) unless its name ends in .json. */
  add(name: string, files: Record<string, Buffer | number>): PinnedModel {
    const pinned = Object.entries(files).map(([path, given]) => {
      const content = typeof given === 'number' ? randomBytes(given) : given;
      const isLarge = !path.endsWith('.json');
      this.#files.set(`/${name}/resolve/${this.commit}/${path}`, { content, isLarge });
      const digest = isLarge ? (`sha256:${sha256(content)}` as const) : (`git:${gitDigest(content)}` as const);
      return { path, size: content.length, digest };
    });
    const sorted = pinned.sort((one, other) => (one.path < other.path ? -1 : 1));
    const id = sha256(Buffer.from(JSON.stringify([name, this.commit, sorted])));
    return { id, source: 'HUB', name, commit: this.commit, files: sorted };
  }

  #listen(serve: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void): Promise<string> {
    const server = createServer((request, response) => {
      Promise.resolve(serve(request, response)).catch(() => response.destroy());
    });
    this.#servers.push(server);
    return new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    });
  }

  #faultsOf(path: string): HubFaults {
    return { ...this.faults.get('*'), ...this.faults.get(path.split('/').at(-1)!) };
  }

  #serveHub(request: IncomingMessage, response: ServerResponse): Promise<void> | void {
    const path = decodeURIComponent(request.url!);
    const token = request.headers.authorization?.replace('Bearer ', '');
    this.asked.push({ path, range: request.headers.range, token });
    const { status, isPage, isReplaced, renamedTo } = this.#faultsOf(path);
    if (status !== undefined) return void response.writeHead(status).end();
    if (isPage) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Please sign in</html>');
    if (renamedTo !== undefined && !path.startsWith(`/${renamedTo}/`)) {
      const location = path.replace(/^\/[^/]+\/[^/]+/, `/${renamedTo}`);
      return void response.writeHead(307, { location }).end();
    }
    const file = this.#files.get(path);
    if (this.tokens && !this.tokens.has(token ?? '')) return void response.writeHead(token ? 403 : 401).end();
    if (!file) return void response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
    const digest = file.isLarge ? sha256(file.content) : gitDigest(file.content);
    response.setHeader('x-repo-commit', this.commit);
    response.setHeader('accept-ranges', 'bytes');
    if (!file.isLarge) return this.#send(request, response, { path, file, tag: `"${digest}"` });
    response.setHeader('x-linked-size', file.content.length);
    response.setHeader('x-linked-etag', `"${isReplaced ? sha256(Buffer.from('another')) : digest}"`);
    response.writeHead(302, { location: `${this.#cdn}${request.url}?signature=1` }).end();
  }

  #serveCdn(request: IncomingMessage, response: ServerResponse): Promise<void> | void {
    if (request.headers.authorization) this.leaked.push(request.headers.authorization);
    const path = decodeURIComponent(request.url!.split('?')[0]!);
    return this.#send(request, response, { path, file: this.#files.get(path)!, tag: '"a-name-of-the-cdn"' });
  }

  async #send(
    request: IncomingMessage,
    response: ServerResponse,
    { path, file, tag }: { path: string; file: HubFile; tag: string },
  ): Promise<void> {
    const faults = this.#faultsOf(path);
    const content = faults.isChanged ? Buffer.alloc(file.content.length, 1) : file.content;
    const ifRange = request.headers['if-range'];
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const isPart = from !== undefined && (ifRange === undefined || ifRange === tag);
    const start = isPart ? Number(from) : 0;
    const end = isPart && to ? Number(to) + 1 : content.length;
    const head = { etag: tag, 'content-length': end - start };
    const range = `bytes ${start}-${end - 1}/${content.length}`;
    response.writeHead(isPart ? 206 : 200, isPart ? { ...head, 'content-range': range } : head);
    response.flushHeaders();
    await faults.until;
    let stop = end;
    if (faults.cut && faults.cut.times > 0) {
      faults.cut.times -= 1;
      if (faults.cut.times === 0 && faults.cut.next) this.faults.set(path.split('/').at(-1)!, faults.cut.next);
      stop = start + Math.floor((end - start) * faults.cut.share);
    }
    if (faults.drip) {
      const { bytes, everyMs } = faults.drip;
      for (let at = start; at < stop && !response.destroyed; at += bytes) {
        await this.#write(response, path, content.subarray(at, Math.min(stop, at + bytes)));
        await sleep(everyMs);
      }
    } else if (faults.halfUntil) {
      const half = start + Math.floor((stop - start) / 2);
      await this.#write(response, path, content.subarray(start, half));
      await faults.halfUntil;
      await this.#write(response, path, content.subarray(half, stop));
    } else await this.#write(response, path, content.subarray(start, stop));
    if (stop < end) response.destroy();
    else response.end();
  }

  async #write(response: ServerResponse, path: string, bytes: Buffer): Promise<void> {
    await new Promise<void>((resolve) => response.write(bytes, () => resolve())); // handed to the system, or the connection is gone
    this.sent.set(path, (this.sent.get(path) ?? 0) + bytes.length);
  }
}

/** Returns a release's use of a model. */
export function useOf(model: PinnedModel, more: Partial<ModelUse> = {}): ModelUse {
  const { id, source, name, commit, files } = model;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { id, source, name, commit, revision: null, bytes, tokenSecret: null, ...more };
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function gitDigest(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

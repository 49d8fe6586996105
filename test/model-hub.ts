import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelUse, PinnedModel } from '../src/domain/models/pinned-model.ts';

/** A file of which only this is known: its digest is that of its path, and it cannot be read. */
interface FileFacts {
  size: number;
  /** All but small text files are. */
  lfs?: boolean;
}

/** A model on the hub. */
export interface HubModel {
  /** By path. One with a content is large (LFS) unless its name ends in .json. */
  files: Record<string, Buffer | FileFacts>;
  task?: string;
  /** Tokens that may read a gated model's files; anybody may read what it consists of. */
  gatedFor?: string[];
  /** The same, for all that there is of it. */
  tokens?: string[];
  /** Tokens that may know of a private model. */
  privateFor?: string[];
  /** Branches and tags besides `main`, by their commits. */
  revisions?: Record<string, string>;
  /** Its name now. */
  renamedTo?: string;
}

/** How the hub misbehaves: each part for the name of a model or of a file, or for all with `*`. */
export interface HubFaults {
  /** Bodies end after this share of what they were to send, so many times; then there are other faults. */
  cut?: { share: number; times: number; next?: HubFaults };
  /** Sends a page instead of a file. */
  isPage?: boolean;
  /** Sends other bytes of the same size. */
  isChanged?: boolean;
  /** Says that a large file has another digest. */
  isReplaced?: boolean;
  /** Every body is whole, whatever part was asked for. */
  ignoresRanges?: boolean;
  /** The status of every request for a file. */
  status?: number;
  /** Sends no byte of a body until it resolves. */
  until?: Promise<unknown>;
  /** Sends the first half, then waits. */
  halfUntil?: Promise<unknown>;
  /** Sends so many bytes at a time, for as long as somebody listens. */
  drip?: { bytes: number; everyMs: number };
}

/**
 * A model hub on loopback that answers about models and sends their files, as its public documentation and clients have it: large files by a redirect to
 * a CDN at another port, pages of `tree`, `X-Repo-Commit`, `X-Linked-*`, headers of XET, errors with `X-Error-Code`. Counts what it sends.
 */
export class ModelHub {
  url = '';
  readonly models = new Map<string, HubModel>();
  readonly faults = new Map<string, HubFaults>();
  /** Any other token is refused, as a revoked one; null: none is. */
  tokens: Set<string> | null = null;
  /** Tokens that may read files; null: everybody may. */
  readers: Set<string> | null = null;
  readonly asked: { method: string; path: string; range: string | undefined; token: string | undefined }[] = [];
  /** `Authorization` headers that reached the CDN. */
  readonly leaked: string[] = [];
  /** Bytes of bodies, by the path in a model. */
  readonly sent = new Map<string, number>();
  /** The `Range` of requests for contents. */
  readonly ranges: (string | undefined)[] = [];
  /** Entries of a page of `tree`. */
  pageSize = 1_000;
  /** Answers instead of the hub, if it returns true. */
  intercept: ((req: IncomingMessage, res: ServerResponse) => boolean) | null = null;
  /** Where the CDN is said to be. */
  cdn = '';
  readonly #servers: Server[] = [];
  readonly #host: string;

  private constructor(host: string) {
    this.#host = host;
  }

  /** `names`: of small models that it has from the beginning. `host`: the address that it listens on. */
  static async start(names: readonly string[] = [], host = '127.0.0.1'): Promise<ModelHub> {
    const hub = new ModelHub(host);
    for (const name of names) hub.models.set(name, { files: { 'config.json': { size: 2 } } });
    hub.cdn = await hub.#listen((req, res) => hub.#sendFromCdn(req, res));
    hub.url = await hub.#listen((req, res) => hub.#answer(req, res));
    return hub;
  }

  async close(): Promise<void> {
    for (const server of this.#servers.splice(0)) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  }

  /** Bytes of all bodies. */
  get sentBytes(): number {
    return [...this.sent.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** The commit that `main` of a model is; it follows from its files. */
  commitOf(name: string): string {
    const files = Object.entries(this.models.get(name)!.files);
    const facts = files.map(([path, file]) => [path, Buffer.isBuffer(file) ? sha256(file) : file]);
    return sha1(JSON.stringify([name, facts]));
  }

  /** Adds a model with these contents, or random ones of a size, and returns what a release pins of it. */
  add(name: string, files: Record<string, Buffer | number>): PinnedModel {
    const contents = Object.entries(files).map(
      ([path, file]) => [path, typeof file === 'number' ? randomBytes(file) : file] as const,
    );
    this.models.set(name, { files: Object.fromEntries(contents) });
    const commit = this.commitOf(name);
    const pinned = contents
      .map(([path, content]) => ({ path, size: content.length, digest: digestOf(path, content) }))
      .sort((one, other) => (one.path < other.path ? -1 : 1));
    return { id: sha256(JSON.stringify([name, commit, pinned])), source: 'HUB', name, commit, files: pinned };
  }

  #listen(serve: (req: IncomingMessage, res: ServerResponse) => Promise<void> | void): Promise<string> {
    const server = createServer((req, res) => {
      Promise.resolve(serve(req, res)).catch(() => res.destroy());
    });
    this.#servers.push(server);
    return new Promise((resolve) => {
      server.listen(0, this.#host, () => resolve(`http://${this.#host}:${(server.address() as AddressInfo).port}`));
    });
  }

  #faultsOf(name: string, path: string): HubFaults {
    return { ...this.faults.get('*'), ...this.faults.get(name), ...this.faults.get(path.split('/').at(-1)!) };
  }

  #answer(req: IncomingMessage, res: ServerResponse): Promise<void> | void {
    const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1];
    const path = decodeURIComponent(req.url!.split('?')[0]!);
    this.asked.push({ method: req.method!, path, range: req.headers.range, token });
    if (this.intercept?.(req, res)) return; // which may also change what is asked for
    const url = new URL(req.url!, this.url);
    const parts = url.pathname.slice(1).split('/').map(decodeURIComponent);
    const isQuestion = parts[0] === 'api';
    if (token !== undefined && this.tokens?.has(token) === false)
      return refuse(res, 401, null, 'Invalid credentials in Authorization header');
    if (url.pathname === '/api/whoami-v2') {
      const auth = { type: 'access_token', accessToken: { role: 'read' } };
      if (token === undefined) return refuse(res, 401, null, 'Invalid username or password.');
      return sendJson(res, { type: 'user', name: 'somebody', auth });
    }
    if (isQuestion && parts[1] !== 'models') return refuse(res, 404, null, 'Sorry, we can’t find the page');
    const [owner, repository, what = '', revision = 'main', ...names] = isQuestion ? parts.slice(2) : parts;
    const name = `${owner}/${repository}`;
    const model = this.models.get(name);
    const mayRead = (readers: Iterable<string> | null | undefined) => !readers || [...readers].includes(token ?? '');
    if (!model || !mayRead(model.privateFor))
      return refuse(res, token === undefined ? 401 : 404, 'RepoNotFound', 'Repository not found');
    if (model.renamedTo !== undefined)
      return void res.writeHead(307, { location: req.url!.replace(name, model.renamedTo) }).end();
    const isAboutFiles = !isQuestion || what === 'auth-check';
    if (!mayRead(model.tokens) || (isAboutFiles && !(mayRead(model.gatedFor) && mayRead(this.readers))))
      return refuse(res, token === undefined ? 401 : 403, 'GatedRepo', `Access to model ${name} is restricted`);
    if (what === 'auth-check') return sendJson(res, {});
    const faults = isQuestion ? {} : this.#faultsOf(name, names.join('/'));
    if (faults.status !== undefined) return void res.writeHead(faults.status).end();
    if (faults.isPage) return void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    const main = this.commitOf(name);
    const commits: Record<string, string> = { main, HEAD: main, ...model.revisions };
    const commit = Object.values(commits).find((one) => one === revision) ?? commits[revision];
    if (commit === undefined) return refuse(res, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
    res.setHeader('x-repo-commit', commit);
    if (isQuestion) return this.#sendAbout(req, res, { name, model, commit, what, url });
    return this.#sendFile(req, res, { name, commit, path: names.join('/'), isReplaced: faults.isReplaced === true });
  }

  #sendAbout(
    req: IncomingMessage,
    res: ServerResponse,
    { name, model, commit, what, url }: { name: string; model: HubModel; commit: string; what: string; url: URL },
  ): Promise<void> | void {
    if (what === '' || what === 'revision') return sendJson(res, infoOf(name, commit, model));
    const files = Object.entries(model.files).map(([path, file]) => entryOf(path, file));
    if (what === 'paths-info') {
      return readAll(req).then((text) => {
        const { paths } = JSON.parse(text) as { paths: string[] };
        sendJson(
          res,
          files.filter(({ path }) => paths.includes(path)),
        );
      });
    }
    if (what !== 'tree') return refuse(res, 404, null, 'Sorry, there is no such page');
    const folders = new Set(Object.keys(model.files).flatMap((path) => path.split('/').slice(0, -1)[0] ?? []));
    const entries = [...[...folders].map((path) => ({ type: 'directory', oid: sha1(path), size: 0, path })), ...files];
    const start = Number(url.searchParams.get('cursor') ?? 0);
    const end = start + this.pageSize;
    url.searchParams.set('cursor', String(end));
    if (end < entries.length) res.setHeader('link', `<${url.href}>; rel="next"`);
    sendJson(res, entries.slice(start, end));
  }

  #sendFile(
    req: IncomingMessage,
    res: ServerResponse,
    { name, commit, path, isReplaced }: { name: string; commit: string; path: string; isReplaced: boolean },
  ): Promise<void> | void {
    const content = this.models.get(name)!.files[path];
    if (!Buffer.isBuffer(content)) return refuse(res, 404, 'EntryNotFound', 'Entry not found');
    const digest = digestOf(path, content).split(':')[1]!;
    if (!isLarge(path, content)) return this.#send(req, res, { name, path, etag: `"${digest}"` });
    res.writeHead(302, {
      location: `${this.cdn}/${name}/${encodeURIComponent(path)}?signature=1`,
      'x-linked-size': content.length,
      'x-linked-etag': `"${isReplaced ? sha256('another') : digest}"`,
      'x-xet-hash': sha256('xet'),
      link: `<${this.url}/api/models/${name}/xet-read-token/${commit}>; rel="xet-auth", <${this.url}/x>; rel="xet-reconstruction-info"`,
    });
    res.end();
  }

  #sendFromCdn(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.headers.authorization) this.leaked.push(req.headers.authorization);
    const [owner, repository, path] = new URL(req.url!, this.cdn).pathname.slice(1).split('/').map(decodeURIComponent);
    return this.#send(req, res, { name: `${owner}/${repository}`, path: path!, etag: '"a-name-of-the-cdn"' });
  }

  async #send(
    req: IncomingMessage,
    res: ServerResponse,
    { name, path, etag }: { name: string; path: string; etag: string },
  ): Promise<void> {
    const faults = this.#faultsOf(name, path);
    const { range, 'if-range': ifRange = etag } = req.headers;
    this.ranges.push(range);
    const whole = this.models.get(name)!.files[path] as Buffer;
    const content = faults.isChanged ? Buffer.alloc(whole.length, 1) : whole;
    const isPart = !faults.ignoresRanges && ifRange === etag;
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(isPart ? (range ?? '') : '') ?? [];
    const start = Number(from ?? 0);
    const end = to ? Number(to) + 1 : content.length;
    res.writeHead(from === undefined ? 200 : 206, {
      ...{ etag, 'content-length': end - start, 'content-type': 'binary/octet-stream' },
      ...(from !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${content.length}` }),
    });
    if (req.method === 'HEAD') return void res.end();
    res.flushHeaders();
    await faults.until;
    const stop = this.#stopOf(faults, name, path, { start, end });
    if (faults.drip) {
      const { bytes, everyMs } = faults.drip;
      for (let at = start; at < stop && !res.destroyed; at += bytes) {
        await this.#write(res, path, content.subarray(at, Math.min(stop, at + bytes)));
        await sleep(everyMs);
      }
    } else {
      const half = faults.halfUntil ? start + Math.floor((stop - start) / 2) : start;
      await this.#write(res, path, content.subarray(start, half));
      await faults.halfUntil;
      await this.#write(res, path, content.subarray(half, stop));
    }
    if (stop < end) res.destroy();
    else res.end();
  }

  /** Where the body ends. */
  #stopOf({ cut }: HubFaults, name: string, path: string, { start, end }: { start: number; end: number }): number {
    if (!cut || cut.times === 0) return end;
    cut.times -= 1;
    const key = [path.split('/').at(-1)!, name, '*'].find((one) => this.faults.get(one)?.cut === cut)!;
    if (cut.times === 0 && cut.next) this.faults.set(key, cut.next);
    return start + Math.floor((end - start) * cut.share);
  }

  async #write(res: ServerResponse, path: string, bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    await new Promise<void>((resolve) => res.write(bytes, () => resolve())); // handed to the system, or the connection is gone
    this.sent.set(path, (this.sent.get(path) ?? 0) + bytes.length);
  }
}

/** Returns a release's use of a model. */
export function useOf(model: PinnedModel, more: Partial<ModelUse> = {}): ModelUse {
  const { id, source, name, commit, files } = model;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { id, source, name, commit, revision: null, bytes, tokenSecret: null, ...more };
}

/** The digest that the hub gives of a file. */
export function digestOf(path: string, file: Buffer | FileFacts): `sha256:${string}` | `git:${string}` {
  if (isLarge(path, file)) return `sha256:${sha256(Buffer.isBuffer(file) ? file : path)}`;
  return `git:${Buffer.isBuffer(file) ? gitDigest(file) : sha1(path)}`;
}

function isLarge(path: string, file: Buffer | FileFacts): boolean {
  return Buffer.isBuffer(file) ? !path.endsWith('.json') : file.lfs === true;
}

function entryOf(path: string, file: Buffer | FileFacts) {
  const size = Buffer.isBuffer(file) ? file.length : file.size;
  const digest = digestOf(path, file).split(':')[1]!;
  if (!isLarge(path, file)) return { type: 'file', oid: digest, size, path };
  const lfs = { oid: digest, size, pointerSize: 135 };
  return { type: 'file', oid: sha1(path), size, path, lfs, xetHash: sha256(`xet ${path}`) };
}

/** Returns the hub's record of a model at a commit. */
function infoOf(name: string, sha: string, { files, task, gatedFor, privateFor }: HubModel): object {
  return {
    ...{ _id: sha1(name).slice(0, 24), id: name, modelId: name, author: name.split('/')[0], sha },
    ...{ private: privateFor !== undefined, gated: gatedFor ? 'manual' : false, disabled: false },
    ...{ downloads: 7, likes: 1, tags: [] },
    ...{ lastModified: '2026-01-02T03:04:05.000Z', createdAt: '2026-01-01T00:00:00.000Z' },
    ...(task && { pipeline_tag: task }),
    siblings: Object.keys(files).map((rfilename) => ({ rfilename })),
  };
}

async function readAll(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text;
}

function sendJson(res: ServerResponse, body: unknown, status = 200): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

function refuse(res: ServerResponse, status: number, code: string | null, error: string): void {
  if (code) res.setHeader('x-error-code', code);
  res.setHeader('x-error-message', encodeURIComponent(error));
  sendJson(res, { error }, status);
}

const sha1 = (text: string | Buffer) => createHash('sha1').update(text).digest('hex');
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const gitDigest = (content: Buffer) => sha1(Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]));

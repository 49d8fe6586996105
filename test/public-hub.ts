import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A model with its contents. A file is large (LFS) unless its name ends in .json. */
export interface PublicModel {
  files: Record<string, Buffer>;
  /** Tokens that may read it; absent: everybody may. */
  tokens?: string[];
  /** Its name now. */
  renamedTo?: string;
}

/**
 * A model hub on loopback that answers about models and sends their files, as its public documentation and clients have it: large files by a redirect to
 * a CDN at another port, pages of `tree`, `X-Repo-Commit`, `X-Linked-*`, headers of XET, errors with `X-Error-Code`.
 */
export class PublicHub {
  url = '';
  readonly models = new Map<string, PublicModel>();
  readonly asked: { method: string; path: string; token: string | undefined }[] = [];
  /** `Authorization` headers that reached the CDN. */
  readonly leaked: string[] = [];
  /** Bytes of bodies that were sent of each path in a model. */
  readonly sent = new Map<string, number>();
  /** The `Range` of requests for contents. */
  readonly ranges: (string | undefined)[] = [];
  /** Bodies wait after their first half until it resolves. */
  halfUntil: Promise<unknown> | null = null;
  /** The next body of the CDN ends after this share. */
  cutAt: number | null = null;
  /** Other bytes come than the digest promises. */
  isChanged = false;
  /** Every body is whole, whatever part was asked for. */
  ignoresRanges = false;
  /** Every request is answered so; null: as it should be. */
  status: number | null = null;
  /** Where the CDN is said to be. */
  cdn = '';
  readonly #servers: Server[] = [];
  readonly #host: string;

  private constructor(host: string) {
    this.#host = host;
  }

  /** `host`: the address that it listens on. */
  static async start(host = '127.0.0.1'): Promise<PublicHub> {
    const hub = new PublicHub(host);
    hub.cdn = await hub.#listen((request, response) => hub.#sendFromCdn(request, response));
    hub.url = await hub.#listen((request, response) => hub.#answer(request, response));
    return hub;
  }

  async close(): Promise<void> {
    for (const server of this.#servers.splice(0)) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  }

  commitOf(name: string): string {
    const digests = Object.entries(this.models.get(name)!.files).map(([path, content]) => [path, sha256(content)]);
    return createHash('sha1')
      .update(JSON.stringify([name, digests]))
      .digest('hex');
  }

  #listen(serve: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void): Promise<string> {
    const server = createServer((request, response) => {
      Promise.resolve(serve(request, response)).catch(() => response.destroy());
    });
    this.#servers.push(server);
    return new Promise((resolve) => {
      server.listen(0, this.#host, () => resolve(`http://${this.#host}:${(server.address() as AddressInfo).port}`));
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse): Promise<void> | void {
    const url = new URL(request.url!, this.url);
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    this.asked.push({ method: request.method!, path: url.pathname, token });
    if (this.status !== null) return refuse(response, this.status, null, 'not now');
    const parts = url.pathname.slice(1).split('/').map(decodeURIComponent);
    if (url.pathname === '/api/whoami-v2') {
      return token
        ? sendJson(response, {
            type: 'user',
            name: 'somebody',
            auth: { type: 'access_token', accessToken: { role: 'read' } },
          })
        : refuse(response, 401, null, 'Invalid username or password.');
    }
    const isQuestion = parts[0] === 'api' && parts[1] === 'models';
    const [owner, repository, what, revision = 'main', ...path] = isQuestion ? parts.slice(2) : parts;
    const name = `${owner}/${repository}`;
    const model = this.models.get(name);
    if (!model) return refuse(response, 401, 'RepoNotFound', 'Repository not found');
    if (model.renamedTo !== undefined) {
      const location = request.url!.replace(name, model.renamedTo);
      return void response.writeHead(307, { location }).end();
    }
    if (model.tokens && !model.tokens.includes(token ?? '')) {
      return refuse(response, token ? 403 : 401, 'GatedRepo', `Access to model ${name} is restricted`);
    }
    const commit = this.commitOf(name);
    if (!['main', 'HEAD', commit].includes(revision))
      return refuse(response, 404, 'RevisionNotFound', 'Invalid rev id');
    response.setHeader('x-repo-commit', commit);
    if (isQuestion) return this.#sendAbout(request, response, { name, model, commit, what, url });
    const content = model.files[path.join('/')];
    if (!content) return refuse(response, 404, 'EntryNotFound', 'Entry not found');
    if (path.at(-1)!.endsWith('.json'))
      return this.#send(request, response, content, `"${gitDigest(content)}"`, path.join('/'));
    response.writeHead(302, {
      location: `${this.cdn}/${name}/${path.join('/')}?signature=1`,
      ...{
        'x-linked-size': content.length,
        'x-linked-etag': `"${sha256(content)}"`,
        'x-xet-hash': sha256(Buffer.from('xet')),
      },
      link: `<${this.url}/api/models/${name}/xet-read-token/${commit}>; rel="xet-auth", <${this.url}/x>; rel="xet-reconstruction-info"`,
    });
    response.end();
  }

  #sendAbout(
    request: IncomingMessage,
    response: ServerResponse,
    {
      name,
      model,
      commit,
      what,
      url,
    }: { name: string; model: PublicModel; commit: string; what: string | undefined; url: URL },
  ): Promise<void> | void {
    const entries = Object.entries(model.files).map(([path, content]) => ({
      ...{ type: 'file', path, size: content.length, oid: gitDigest(content) },
      ...(!path.endsWith('.json') && {
        lfs: { oid: sha256(content), size: content.length, pointerSize: 135 },
        xetHash: 'x',
      }),
    }));
    if (what === undefined || what === 'revision') {
      const siblings = entries.map(({ path }) => ({ rfilename: path }));
      return sendJson(response, {
        id: name,
        modelId: name,
        sha: commit,
        private: false,
        gated: false,
        likes: 1,
        downloads: 1,
        lastModified: '2026-01-02T03:04:05.000Z',
        tags: [],
        siblings,
      });
    }
    if (what === 'paths-info') {
      return new Promise((resolve) => {
        let text = '';
        request.on('data', (chunk) => (text += chunk));
        request.on('end', () => {
          const { paths } = JSON.parse(text) as { paths: string[] };
          sendJson(
            response,
            entries.filter(({ path }) => paths.includes(path)),
          );
          resolve();
        });
      });
    }
    if (what !== 'tree') return refuse(response, 404, null, 'Sorry, there is no such page');
    const start = Number(url.searchParams.get('cursor') ?? 0);
    url.searchParams.set('cursor', String(start + 2));
    if (start + 2 < entries.length) response.setHeader('link', `<${url.href}>; rel="next"`);
    return sendJson(response, entries.slice(start, start + 2));
  }

  #sendFromCdn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization) this.leaked.push(request.headers.authorization);
    const [owner, repository, ...path] = new URL(request.url!, this.cdn).pathname
      .slice(1)
      .split('/')
      .map(decodeURIComponent);
    const content = this.models.get(`${owner}/${repository}`)!.files[path.join('/')]!;
    return this.#send(request, response, content, '"a-name-of-the-cdn"', path.join('/'));
  }

  async #send(
    request: IncomingMessage,
    response: ServerResponse,
    whole: Buffer,
    etag: string,
    path: string,
  ): Promise<void> {
    this.ranges.push(request.headers.range);
    const content = this.isChanged ? Buffer.alloc(whole.length, 1) : whole;
    const range = this.ignoresRanges ? '' : (request.headers.range ?? '');
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? [];
    const start = Number(from ?? 0);
    const end = to ? Number(to) + 1 : content.length;
    response.writeHead(from === undefined ? 200 : 206, {
      ...{ etag, 'content-length': end - start, 'content-type': 'binary/octet-stream' },
      ...(from !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${content.length}` }),
    });
    if (request.method === 'HEAD') return void response.end();
    const stop = this.cutAt === null ? end : start + Math.floor((end - start) * this.cutAt);
    this.cutAt = null;
    const half = start + Math.floor((stop - start) / 2);
    await this.#write(response, path, content.subarray(start, half));
    await this.halfUntil;
    await this.#write(response, path, content.subarray(half, stop));
    if (stop < end) response.destroy();
    else response.end();
  }

  async #write(response: ServerResponse, path: string, bytes: Buffer): Promise<void> {
    await new Promise<void>((resolve) => response.write(bytes, () => resolve()));
    this.sent.set(path, (this.sent.get(path) ?? 0) + bytes.length);
  }
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, code: string | null, error: string): void {
  const headers = { ...(code && { 'x-error-code': code }), 'x-error-message': error };
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ error }));
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function gitDigest(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

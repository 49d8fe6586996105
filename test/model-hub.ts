import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A model on the hub. */
export interface HubModel {
  /** Paths, with their sizes; `lfs`: all but small text files are. */
  files: Record<string, { size: number; lfs?: boolean }>;
  task?: string;
  /** Tokens that may read a gated model's files; anybody may read what it consists of. */
  gatedFor?: string[];
  /** Tokens that may know of a private model. */
  privateFor?: string[];
  /** Branches and tags besides `main`, by their commits. */
  revisions?: Record<string, string>;
  /** Its name now. */
  renamedTo?: string;
}

/**
 * The part of a model hub's public API that tells what a model consists of, on loopback: `revision`, `tree` in pages, `auth-check`,
 * with the statuses and `X-Error-Code`s of huggingface.co. It sends no files.
 */
export class ModelHub {
  readonly #server: Server;
  readonly models = new Map<string, HubModel>();
  /** Any other token is refused, as a revoked one. */
  readonly tokens = new Set<string>();
  readonly requests: { path: string; authorization: string | undefined }[] = [];
  /** Entries of a page of `tree`. */
  pageSize = 1_000;
  /** Answers instead of the hub, if it returns true. */
  intercept: ((req: IncomingMessage, res: ServerResponse) => boolean) | null = null;

  private constructor() {
    this.#server = createServer((req, res) => this.#answer(req, res));
  }

  /** `names`: of small models that it has from the beginning. */
  static async start(...names: string[]): Promise<ModelHub> {
    const hub = new ModelHub();
    for (const name of names) hub.models.set(name, { files: { 'config.json': { size: 2 } } });
    hub.#server.listen(0, '127.0.0.1');
    await once(hub.#server, 'listening');
    return hub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  /** The commit that `main` of a model is; it follows from its files. */
  commitOf(name: string): string {
    return sha1(JSON.stringify([name, this.models.get(name)!.files]));
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const { authorization } = req.headers;
    this.requests.push({ path: req.url!, authorization });
    if (this.intercept?.(req, res)) return;
    const url = new URL(req.url!, this.url);
    const [, api, models, owner, repository, what = '', ...rest] = url.pathname.split('/');
    if (api !== 'api' || models !== 'models') {
      refuse(res, 404, null, 'Sorry, we can’t find the page');
      return;
    }
    const token = /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
    if (token !== undefined && !this.tokens.has(token)) {
      refuse(res, 401, null, 'Invalid credentials in Authorization header');
      return;
    }
    const name = `${owner}/${repository}`;
    const model = this.models.get(name);
    const isHidden = model?.privateFor !== undefined && !model.privateFor.includes(token ?? '');
    if (model === undefined || isHidden) {
      refuse(res, token === undefined ? 401 : 404, 'RepoNotFound', 'Repository not found');
      return;
    }
    if (model.renamedTo !== undefined) {
      res.writeHead(307, { location: url.pathname.replace(name, model.renamedTo) + url.search }).end();
      return;
    }
    if (what === 'auth-check') this.#check(res, model, token);
    else this.#sendRevision(res, name, what, decodeURIComponent(rest[0] ?? 'main'), url);
  }

  #sendRevision(res: ServerResponse, name: string, what: string, revision: string, url: URL): void {
    const model = this.models.get(name)!;
    const commits = { main: this.commitOf(name), HEAD: this.commitOf(name), ...model.revisions };
    const sha = Object.values(commits).find((commit) => commit === revision) ?? commits[revision as 'main'];
    if (sha === undefined) refuse(res, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
    else if (what === 'tree') this.#sendTree(res, model, url);
    else send(res, 200, infoOf(name, sha, model));
  }

  #check(res: ServerResponse, model: HubModel, token: string | undefined): void {
    if (!model.gatedFor || model.gatedFor.includes(token ?? '')) send(res, 200, {});
    else refuse(res, token === undefined ? 401 : 403, 'GatedRepo', 'Access to model is restricted');
  }

  /** Directories are entries too; each page names the next one. */
  #sendTree(res: ServerResponse, { files }: HubModel, url: URL): void {
    const folders = new Set(Object.keys(files).flatMap((path) => path.split('/').slice(0, -1)[0] ?? []));
    const entries = [
      ...[...folders].map((path) => ({ type: 'directory', oid: sha1(path), size: 0, path })),
      ...Object.entries(files).map(([path, { size, lfs }]) => ({
        ...{ type: 'file', oid: sha1(path), size, path },
        ...(lfs && { lfs: { oid: sha256(path), size, pointerSize: 135 }, xetHash: sha256(`xet ${path}`) }),
      })),
    ];
    const start = Number(url.searchParams.get('cursor') ?? 0);
    const next = new URL(url);
    next.searchParams.set('cursor', String(start + this.pageSize));
    const isLast = start + this.pageSize >= entries.length;
    send(res, 200, entries.slice(start, start + this.pageSize), isLast ? {} : { link: `<${next.href}>; rel="next"` });
  }
}

/** Returns the hub's record of a model at a commit. */
function infoOf(name: string, sha: string, { files, task, gatedFor, privateFor }: HubModel): object {
  return {
    ...{ _id: sha1(name).slice(0, 24), id: name, modelId: name, author: name.split('/')[0], sha },
    ...{
      private: privateFor !== undefined,
      gated: gatedFor ? 'manual' : false,
      disabled: false,
      downloads: 7,
      likes: 1,
    },
    ...{ lastModified: '2026-01-02T03:04:05.000Z', createdAt: '2026-01-01T00:00:00.000Z', tags: [] },
    ...(task && { pipeline_tag: task }),
    siblings: Object.keys(files).map((rfilename) => ({ rfilename })),
  };
}

/** The digests that the hub gives of a file. */
export const digestOf = (path: string, isLfs: boolean) =>
  isLfs ? (`sha256:${sha256(path)}` as const) : (`git:${sha1(path)}` as const);

function send(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(JSON.stringify(body));
}

function refuse(res: ServerResponse, status: number, code: string | null, error: string): void {
  send(res, status, { error }, { ...(code && { 'x-error-code': code }), 'x-error-message': encodeURIComponent(error) });
}

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** The author of the tests' own commits, whatever the machine's configuration. */
const ENV = {
  PATH: process.env.PATH!,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Anna',
  GIT_AUTHOR_EMAIL: 'anna@example.com',
  GIT_COMMITTER_NAME: 'Anna',
  GIT_COMMITTER_EMAIL: 'anna@example.com',
};

/** A repository behind git's own HTTP server (git-http-backend), on loopback. */
export class GitServer {
  readonly #root: string;
  readonly #server: Server;
  readonly #children = new Set<ChildProcess>();
  /** The `Authorization` that a client must send; null: none. */
  authorization: string | null = null;
  /** Answers instead of git. */
  intercept: ((req: IncomingMessage, res: ServerResponse) => void) | null = null;
  readonly requests: string[] = [];

  private constructor(root: string) {
    this.#root = root;
    this.#server = createServer((req, res) => this.#answer(req, res));
  }

  static async start(): Promise<GitServer> {
    const server = new GitServer(await mkdtemp(join(tmpdir(), 'podyard-git-')));
    await server.#git(['init', '--quiet', '--bare', 'app.git'], server.#root);
    await server.#git(['init', '--quiet', '--initial-branch=main', 'work'], server.#root);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/app.git`;
  }

  /** The repository's folder on this machine. */
  get bare(): string {
    return join(this.#root, 'app.git');
  }

  /** Commits these files, beside those that are there, and pushes them to a branch or tag. Returns the commit. */
  async push(
    files: Record<string, string | Buffer>,
    { message = 'Change', ref = 'refs/heads/main' } = {},
  ): Promise<string> {
    const work = join(this.#root, 'work');
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(work, path)), { recursive: true });
      await writeFile(join(work, path), content);
    }
    await this.#git(['add', '--all', '--force'], work);
    await this.#git(['commit', '--quiet', '--allow-empty', '-m', message], work);
    await this.#git(['push', '--quiet', '--force', '../app.git', `HEAD:${ref}`], work);
    return (await this.#git(['rev-parse', 'HEAD'], work)).trim();
  }

  async deleteRef(ref: string): Promise<void> {
    await this.#git(['update-ref', '-d', ref], join(this.#root, 'app.git'));
  }

  /** Runs git in the folder whose commits are pushed. */
  git(...args: string[]): Promise<string> {
    return this.#git(args, join(this.#root, 'work'));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    for (const child of this.#children) child.kill('SIGKILL');
    await rm(this.#root, { recursive: true, force: true });
  }

  async #git(args: string[], cwd: string): Promise<string> {
    return (await run('git', args, { cwd, env: ENV })).stdout;
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    this.requests.push(`${req.method} ${req.url}`);
    if (this.intercept) this.intercept(req, res);
    else if (this.authorization !== null && req.headers.authorization !== this.authorization) {
      res.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    } else this.#serve(req, res);
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const [path, query = ''] = req.url!.split('?');
    const child = spawn('git', ['http-backend'], {
      env: {
        ...ENV,
        GIT_PROJECT_ROOT: this.#root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: req.method,
        CONTENT_TYPE: req.headers['content-type'] ?? '',
        GIT_PROTOCOL: String(req.headers['git-protocol'] ?? ''),
        HTTP_CONTENT_ENCODING: req.headers['content-encoding'] ?? '',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#children.add(child);
    child.once('close', () => this.#children.delete(child));
    child.stdin.on('error', () => {});
    req.pipe(child.stdin);
    let head = Buffer.alloc(0);
    const onData = (piece: Buffer) => {
      head = Buffer.concat([head, piece]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      child.stdout.off('data', onData);
      const lines = head.subarray(0, end).toString().split('\r\n');
      const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s) as [string, string]));
      const { Status: status = '200', ...rest } = headers;
      res.writeHead(Number.parseInt(status, 10), rest).write(head.subarray(end + 4));
      child.stdout.pipe(res);
    };
    child.stdout.on('data', onData);
  }
}

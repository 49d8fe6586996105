import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fairMs } from '../test/fair-ms.ts';

interface Post {
  kind: 'job-done' | 'job-stream';
  jobId: string;
  isStream: string | null;
  body: { output?: unknown; error?: string; status?: string; stopPod?: boolean };
}

/** A worker API that hands out the jobs a test gives it, holds polls like the real one, and records requests. */
class FakeApi {
  readonly posts: Post[] = [];
  readonly pings: string[] = [];
  readonly takes: string[] = [];
  authorization = new Set<string | undefined>();
  /** Statuses with which the next posts are refused. */
  refusals: number[] = [];
  /** Statuses with which the next posts are refused unread, after which the connection is cut. */
  unreadRefusals: number[] = [];
  /** Posts, refused ones included. */
  attempts = 0;
  #jobs: object[] = [];
  #stops: string[] = [];
  #heldTakes: { answer: ServerResponse; batch: number | undefined }[] = [];
  #heldStops: ServerResponse[] = [];
  #changed = () => {};
  #server: Server | undefined;
  port = 0;

  async listen(port = 0): Promise<void> {
    this.#server = createServer((request, answer) => void this.#serve(request, answer));
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Sends a job in two halves: the second once the worker has hung up. */
  async giveLate(id: string, input: unknown, hangUp: () => void): Promise<void> {
    Object.assign(this.#server!, { httpAllowHalfOpen: true }); // as Podyard's own server, which sends what it has begun
    const { answer } = this.#heldTakes.shift()!;
    const socket = answer.socket!;
    const body = JSON.stringify({ id, input });
    answer.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    answer.write(body.slice(0, 5));
    const over = Promise.race([once(socket, 'end'), once(socket, 'close')]);
    hangUp();
    await over;
    answer.end(body.slice(5));
    socket.end();
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    this.#server?.close();
    this.#heldTakes = [];
    this.#heldStops = [];
  }

  give(id: string, input: unknown, more: object = {}): void {
    this.#jobs.push({ id, input, ...more });
    this.#handOver();
  }

  stop(id: string): void {
    this.#stops.push(id);
    this.#handOver();
  }

  /** Answers the held takes with 204 and this header. */
  order(header: 'podyard-sleep' | 'podyard-wake'): void {
    for (const { answer } of this.#heldTakes.splice(0)) answer.writeHead(204, { [header]: '1' }).end();
  }

  get heldTakes(): number {
    return this.#heldTakes.filter(({ answer }) => !answer.destroyed).length;
  }

  /** Resolves once `look` finds something; checks after each request. */
  async until<T>(look: () => T | undefined | false): Promise<T> {
    for (const deadline = Date.now() + 40_000; ; ) {
      const found = look();
      if (found) return found;
      if (Date.now() > deadline) throw new Error(`it never came; posts: ${JSON.stringify(this.posts)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  result(jobId: string): Promise<Post> {
    return this.until(() =>
      this.posts.find((post) => post.jobId === jobId && post.kind === 'job-done' && !post.body.status),
    );
  }

  async #serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://api');
    const [, , , kind, , jobId] = url.pathname.split('/');
    this.authorization.add(request.headers.authorization);
    if (request.method === 'POST') this.attempts += 1;
    const unread = request.method === 'POST' ? this.unreadRefusals.shift() : undefined;
    if (unread !== undefined) {
      answer.writeHead(unread, { 'content-length': 2 }).write('{}');
      setTimeout(() => request.socket.destroy(), 300);
      return;
    }
    const body = (await request.toArray()).join('');
    if (kind === 'job-take' || kind === 'job-take-batch') {
      this.takes.push(url.pathname + url.search);
      const batch = kind === 'job-take-batch' ? Number(url.searchParams.get('batch_size')) : undefined;
      this.#heldTakes.push({ answer, batch });
      this.#handOver();
    } else if (kind === 'job-stop') {
      this.#heldStops.push(answer);
      this.#handOver();
    } else if (kind === 'ping') {
      this.pings.push(url.searchParams.get('job_id') ?? '');
      answer.end('{}');
    } else {
      const status = this.refusals.shift() ?? 200;
      if (status === 200)
        this.posts.push({
          kind: kind as Post['kind'],
          jobId: jobId!,
          isStream: url.searchParams.get('isStream'),
          body: JSON.parse(body),
        });
      answer.writeHead(status).end('{}');
    }
    this.#changed();
  }

  #handOver(): void {
    this.#heldTakes = this.#heldTakes.filter(({ answer }) => !answer.destroyed);
    while (this.#jobs.length > 0 && this.#heldTakes.length > 0) {
      const { answer, batch } = this.#heldTakes.shift()!;
      const jobs = this.#jobs.splice(0, batch ?? 1);
      answer.setHeader('content-type', 'application/json').end(JSON.stringify(batch === undefined ? jobs[0] : jobs));
    }
    if (this.#stops.length === 0) return;
    const held = this.#heldStops.filter((answer) => !answer.destroyed);
    this.#heldStops = [];
    held[0]?.setHeader('content-type', 'application/json').end(JSON.stringify({ jobsToStop: this.#stops.splice(0) }));
  }
}

const KITS: Record<string, string[]> = {
  javascript: [process.execPath, join(import.meta.dirname, 'javascript/echo.js')],
  python: ['python3', '-u', join(import.meta.dirname, 'python/echo.py')],
};

/** Programs whose handler returns the modules that its process has loaded. */
const LISTING: Record<string, string[]> = {
  javascript: [
    process.execPath,
    '--input-type=module',
    '-e',
    `import { start } from '${join(import.meta.dirname, 'javascript/podyard-worker.js')}';
     await start({ handler: () => ({ modules: process.moduleLoadList }) });`,
  ],
  python: [
    'python3',
    '-c',
    `import sys
sys.path.insert(0, '${join(import.meta.dirname, 'python')}')
from podyard_worker import start
start(lambda job: {"modules": list(sys.modules)})`,
  ],
};

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe.each(Object.keys(KITS))('the %s worker kit', (language) => {
  const isMissing = language === 'python' && process.env.CI !== 'true' && !hasPython();
  let api: FakeApi;
  let worker: ChildProcess | undefined;

  const begin = (env: Record<string, string> = {}, [command, ...args] = KITS[language]!) => {
    const base = `http://127.0.0.1:${api.port}/v2/ep1`;
    worker = spawn(command!, args, {
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/$ID?gpu=none`,
        RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/$RUNPOD_POD_ID/$ID?gpu=none`,
        RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/$RUNPOD_POD_ID/$ID?gpu=none`,
        RUNPOD_WEBHOOK_PING: `${base}/ping/$RUNPOD_POD_ID?gpu=none`,
        RUNPOD_PING_INTERVAL: '1000',
        RUNPOD_AI_API_KEY: 'raw-token',
        RUNPOD_POD_ID: 'worker1',
        RUNPOD_ENDPOINT_ID: 'ep1',
        ...env,
      },
    });
    return once(worker, 'exit') as Promise<[number | null, string | null]>;
  };

  beforeEach(async () => {
    api = new FakeApi();
    await api.listen();
  });
  afterEach(async () => {
    if (worker?.exitCode === null && worker.signalCode === null) {
      const ended = once(worker, 'exit');
      worker.kill('SIGKILL');
      await ended;
    }
    await api.close();
  });

  test.skipIf(isMissing)(
    'runs jobs, sends results and errors, and identifies itself as the protocol requires',
    async () => {
      begin({ GREETING: 'hello' });
      api.give('plain', { echo: { a: [1, 'ü'] } });
      expect(await api.result('plain')).toMatchObject({ isStream: 'false', body: { output: { a: [1, 'ü'] } } });
      api.give('empty', {});
      expect((await api.result('empty')).body).toEqual({ output: {} });
      api.give('env', { env: 'GREETING' });
      expect((await api.result('env')).body).toEqual({ output: { env: 'hello' } });
      api.give('throws', { throw: 'no luck' });
      const { error } = (await api.result('throws')).body;
      expect(JSON.parse(error!)).toMatchObject({ error_message: 'no luck', worker_id: 'worker1' });
      api.give('big', { bytes: 1_000_000 });
      expect((await api.result('big')).body.output).toHaveProperty('data.length', 1_000_000);
      api.give('refresh', { refresh: true, echo: 1 });
      expect((await api.result('refresh')).body).toEqual({ output: { echo: 1 }, stopPod: true });
      expect([...api.authorization]).toEqual(['raw-token']);
      expect(api.takes[0]).toBe('/v2/ep1/job-take/worker1?gpu=none&job_in_progress=0');
    },
  );

  test.skipIf(isMissing)('a first job does not wait for modules that only others need', async () => {
    begin({}, LISTING[language]);
    api.give('first', {});
    const { modules } = (await api.result('first')).body.output as { modules: string[] };
    expect(modules).toContain(language === 'python' ? 'http.client' : 'NativeModule http');
    expect(modules.filter((name) => /undici|asyncio/.test(name))).toEqual([]);
  });

  test.skipIf(isMissing)('passes the trace context of a job to its handler', async () => {
    begin();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    api.give('t1', { trace: true }, { traceparent });
    expect((await api.result('t1')).body).toEqual({ output: { traceparent } });
    api.give('t2', { trace: true });
    expect((await api.result('t2')).body).toEqual({ output: { traceparent: null } });
  });

  test.skipIf(isMissing)('streams chunks in order and sends progress before the result', async () => {
    begin();
    api.give('s1', { stream: 5, echo: 'x' });
    expect(await api.result('s1')).toMatchObject({ isStream: 'true', body: { output: [] } });
    const chunks = api.posts.filter(({ kind }) => kind === 'job-stream');
    expect(chunks.map(({ body }) => body.output)).toEqual([0, 1, 2, 3, 4].map((index) => ({ index, echo: 'x' })));
    api.give('s2', { stream: 2, throw: 'broke' });
    expect((await api.result('s2')).body.error).toContain('broke');
    api.give('p1', { progress: ['one', 'two'], echo: 'three' });
    await api.result('p1');
    expect(api.posts.filter(({ jobId }) => jobId === 'p1').map(({ body }) => body.output)).toEqual([
      'one',
      'two',
      'three',
    ]);
  });

  test.skipIf(isMissing)(
    'takes in batches, pings with the running jobs, and stops cancelled jobs without a result',
    async () => {
      begin({ ECHO_CONCURRENCY: '2' });
      api.give('long', { delayMs: 60_000 });
      api.give('short', { echo: 'short' });
      await api.result('short');
      expect(api.takes.some((url) => url.startsWith('/v2/ep1/job-take-batch/worker1?gpu=none&batch_size=2'))).toBe(
        true,
      );
      api.give('other', { delayMs: 60_000 });
      await api.until(() => ['long', 'other'].every((id) => api.pings.at(-1)?.split(',').includes(id)));
      expect(api.heldTakes).toBe(0);
      api.stop('long');
      await api.until(() => api.pings.at(-1) === 'other' && api.heldTakes === 1);
      expect(api.takes.at(-1)).toBe('/v2/ep1/job-take/worker1?gpu=none&job_in_progress=1');
      expect(api.posts.filter(({ jobId }) => jobId !== 'short')).toEqual([]);
    },
  );

  test.skipIf(isMissing)('names a job in its pings as long as it goes on with it', async () => {
    begin({ ECHO_CONCURRENCY: '2' });
    api.give('stuck', { hang: true });
    await api.until(() => api.pings.at(-1) === 'stuck' && api.heldTakes === 1);
    api.stop('stuck');
    api.stop('stuck'); // repeated while it is named
    const before = api.pings.length;
    await api.until(() => api.pings.length > before + 3);
    expect(api.pings.slice(before + 1)).not.toContain('');
  });

  test.skipIf(isMissing)('exits at once with 0 when idle, aborting the open poll', async () => {
    const ended = begin();
    await api.until(() => api.heldTakes === 1);
    const tookMs = await fairMs(async () => {
      worker!.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    });
    expect(tookMs).toBeLessThan(3_000);
  });

  test.skipIf(isMissing)('finishes running jobs before it exits, and takes no more', async () => {
    const ended = begin({ ECHO_CONCURRENCY: '2' });
    api.give('last', { delayMs: 1500, echo: 'done' });
    await api.until(() => api.pings.includes('last') && api.heldTakes === 1);
    worker!.kill('SIGTERM');
    await api.until(() => api.heldTakes === 0);
    api.give('late', {});
    expect(await ended).toEqual([0, null]);
    expect(api.posts.map(({ jobId, body }) => [jobId, body.output])).toEqual([['last', 'done']]);
  });

  test.skipIf(isMissing)('runs a job that is on its way when it is told to end', async () => {
    const ended = begin();
    await api.until(() => api.heldTakes === 1);
    await api.giveLate('late', { echo: 'done' }, () => worker!.kill('SIGTERM'));
    expect(await ended).toEqual([0, null]);
    expect(api.posts.map(({ jobId, body }) => [jobId, body.output])).toEqual([['late', 'done']]);
  });

  test.skipIf(isMissing)('a result survives a 503 and a server that is away for a while', async () => {
    begin();
    api.refusals = [503, 500];
    api.give('one', { echo: 1 });
    await api.result('one');
    await api.until(() => api.heldTakes === 1);
    api.give('two', { echo: 2, delayMs: 500 });
    const { port } = api;
    await api.close();
    await sleep(1500); // the server is away during this time
    await api.listen(port);
    expect((await api.result('two')).body).toEqual({ output: 2 });
    await api.until(() => api.heldTakes === 1);
  });

  test.skipIf(isMissing)('a refused result is not sent again, even if it was refused before it was read', async () => {
    begin();
    for (const [id, status] of [
      ['one', 400],
      ['two', 413],
    ] as const) {
      api.unreadRefusals = [status];
      api.attempts = 0;
      api.give(id, { bytes: 10_000_000 });
      await api.until(() => api.attempts > 0);
      await api.until(() => api.heldTakes === 1); // it is done with the job
      await sleep(700); // time for what must not come
      expect(api.attempts).toBe(1);
    }
    api.give('three', { echo: 3 });
    expect((await api.result('three')).body).toEqual({ output: 3 });
  });

  test.skipIf(isMissing)('sleeps and wakes when it is told to, and takes jobs in between', async () => {
    begin({ ECHO_SLEEP: 'works', PODYARD_SLEEP: '1' });
    const takesWith = (end: string) => api.until(() => api.heldTakes === 1 && api.takes.at(-1)?.endsWith(end));
    await takesWith('&job_in_progress=0&can_sleep=1');
    api.order('podyard-sleep');
    await takesWith('&can_sleep=1&asleep=1');
    api.order('podyard-sleep'); // again: it sleeps already
    await takesWith('&can_sleep=1&asleep=1');
    api.order('podyard-wake');
    await takesWith('&can_sleep=1');
    api.give('count', { slept: true });
    expect((await api.result('count')).body).toEqual({ output: { slept: 1, woke: 1 } });
  });

  test.skipIf(isMissing)('says so when it cannot sleep, and ends when it cannot wake', async () => {
    begin({ ECHO_SLEEP: 'sleepless', PODYARD_SLEEP: '1' });
    await api.until(() => api.heldTakes === 1);
    api.order('podyard-sleep');
    await api.until(() => api.heldTakes === 1 && api.takes.at(-1)?.endsWith('&can_sleep=0'));
    const ended = once(worker!, 'exit');
    worker!.kill('SIGTERM');
    await ended;
    const second = begin({ ECHO_SLEEP: 'forever', PODYARD_SLEEP: '1' });
    await api.until(() => api.heldTakes === 1 && api.takes.at(-1)?.endsWith('&can_sleep=1'));
    api.order('podyard-sleep');
    await api.until(() => api.heldTakes === 1 && api.takes.at(-1)?.endsWith('&asleep=1'));
    api.order('podyard-wake');
    expect(await second).toEqual([1, null]);
  });

  test.skipIf(isMissing)('does not offer to sleep where workers cannot', async () => {
    begin({ ECHO_SLEEP: 'works' });
    await api.until(() => api.heldTakes === 1);
    expect(api.takes[0]).toMatch(/&can_sleep=0$/);
  });

  test.skipIf(isMissing)('exits and crashes on request', async () => {
    const exited = begin();
    api.give('e', { exit: 42 });
    expect(await exited).toEqual([42, null]);
    const crashed = begin();
    api.give('c', { crash: true });
    expect(await crashed).toEqual([null, 'SIGABRT']);
  });
});

test.skipIf(process.env.CI !== 'true' && !hasPython())(
  'a python worker ends when it is told so at any moment, also while its main thread holds a lock',
  () => {
    const program = `
import os, signal, sys
sys.path.insert(0, '${join(import.meta.dirname, 'python')}')
os.environ.update(RUNPOD_WEBHOOK_GET_JOB='http://127.0.0.1:1/job-take/$ID', RUNPOD_WEBHOOK_PING='http://127.0.0.1:1/ping')
import podyard_worker
worker = podyard_worker.Worker(print, 1, None, None)
signal.signal(signal.SIGTERM, lambda *_: worker.drain())
with worker.draining._cond, worker.changed:
    signal.raise_signal(signal.SIGTERM)
worker.run()
os._exit(0)`;
    execFileSync('python3', ['-c', program], { timeout: 20_000, killSignal: 'SIGKILL', stdio: 'pipe' });
  },
);

import { setTimeout as sleep } from 'node:timers/promises';
import { now, PROGRAM, SLEEPING_PROGRAM } from './bare.ts';
import type { Begun } from './one-job-server.ts';

export const KEY = 'bench_key_0123456789abcdef0123456789abcdef';
/** The engine cleans up after a container for a while; the next start must not pay for it. */
export const SETTLE_MS = 3_000;

interface Job {
  id: string;
  status: string;
  workerId?: string;
  output?: Begun;
  error?: string;
}

/** A start from zero; times in ms since 1970. */
export interface ColdStart extends Begun {
  workerId: string;
  submittedAt: number;
  waitedMs: number;
}

/** A client that waits for workers to start. */
export class Client {
  readonly #url: string;
  readonly #image: string;

  constructor({ url, image }: { url: string; image: string }) {
    this.#url = url;
    this.#image = image;
  }

  /** From zero, with the image present. */
  async coldStart(): Promise<ColdStart> {
    const id = await this.#endpoint({});
    await sleep(SETTLE_MS);
    const [start] = await this.#submit(id, 1, 0);
    await this.#delete(id);
    return start!;
  }

  /** Waits of jobs that each find the one worker frozen. */
  async thaws(count: number): Promise<number[]> {
    const id = await this.#endpoint({ flashboot: 'FLASHBOOT', workers: { max: 1 } });
    await this.#submit(id, 1, 0);
    const waitedMs: number[] = [];
    for (let i = 0; i < count; i++) {
      await this.#untilFrozen(id);
      await sleep(300);
      waitedMs.push(...(await this.#submit(id, 1, 0)).map((start) => start.waitedMs));
    }
    await this.#delete(id);
    return waitedMs;
  }

  /** Waits of jobs that each find their worker asleep, and its GPU held by the idle worker of another endpoint. */
  async swaps(count: number): Promise<number[]> {
    const settings = { flashboot: 'FLASHBOOT', scaling: { idleTimeout: 60 } };
    const ids = [await this.#endpoint(settings, SLEEPING_PROGRAM), await this.#endpoint(settings, SLEEPING_PROGRAM)];
    for (const id of ids) await this.#submit(id, 1, 0);
    const waitedMs: number[] = [];
    for (let i = 0; i < count; i++) {
      await sleep(300);
      waitedMs.push(...(await this.#submit(ids[i % 2]!, 1, 0)).map((start) => start.waitedMs));
    }
    for (const id of ids) await this.#delete(id);
    return waitedMs;
  }

  /** Starts `count` jobs at once from zero, each with its own worker. Returns how long until all run. */
  async burst(count: number): Promise<number> {
    const scaling = { type: 'REQUEST_COUNT', value: 1, idleTimeout: 60 };
    const id = await this.#endpoint({ workers: { max: count }, scaling });
    const starts = await this.#submit(id, count, 60_000);
    await this.#delete(id);
    return Math.max(...starts.map(({ waitedMs }) => waitedMs));
  }

  #lastWorker = '';

  /** Returns the start of each job. `holdMs`: how long each keeps its worker, so that none shares one. */
  async #submit(id: string, count: number, holdMs: number): Promise<ColdStart[]> {
    const submittedAt = now();
    const input = { holdMs: count > 1 ? Math.min(holdMs, 15_000) : 0 };
    const jobs = await Promise.all(
      Array.from({ length: count }, () => this.#call<Job>('POST', `/v2/${id}/run`, { input })),
    );
    const ended = await Promise.all(jobs.map((job) => this.#ended(id, job.id)));
    this.#lastWorker = ended[0]!.workerId!;
    if (new Set(ended.map(({ workerId }) => workerId)).size !== count) throw new Error('jobs shared a worker');
    return ended.map(({ workerId, output }) => {
      const { at, born } = output!;
      return { workerId: workerId!, submittedAt, born, at, waitedMs: at - submittedAt };
    });
  }

  async #ended(id: string, jobId: string): Promise<Job> {
    for (;;) {
      const job = await this.#call<Job>('GET', `/v2/${id}/status-sync/${jobId}?wait=30000`);
      if (job.status === 'COMPLETED') return job;
      if (job.status !== 'IN_QUEUE' && job.status !== 'IN_PROGRESS')
        throw new Error(`a job ended: ${JSON.stringify(job)}`);
    }
  }

  async #untilFrozen(id: string): Promise<void> {
    for (let i = 0; i < 600; i++) {
      const { status } = await this.#call<{ status: string }>(
        'GET',
        `/v2/serverless/${id}/workers/${this.#lastWorker}`,
      );
      if (status === 'FROZEN') return;
      await sleep(50);
    }
    throw new Error('the worker was not frozen');
  }

  async #endpoint(more: object, program: readonly string[] = PROGRAM): Promise<string> {
    const [entrypoint, ...cmd] = program;
    const { id } = await this.#call<{ id: string }>('POST', '/v2/serverless', {
      name: 'bench',
      image: this.#image,
      args: JSON.stringify({ entrypoint: [entrypoint], cmd }),
      gpu: { pools: ['ADA_24'] },
      workers: { max: 1 },
      scaling: { idleTimeout: 0 },
      ...more,
    });
    return id;
  }

  /** Deletes the endpoint and waits for its workers to be gone, so that they do not disturb the next start. */
  async #delete(id: string): Promise<void> {
    await this.#call('DELETE', `/v2/serverless/${id}`);
    await sleep(SETTLE_MS);
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(120_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { isQueuePath } from '../../src/dataplane/data-plane.ts';
import { checkAnswer } from '../check-answer.ts';
import type { ServerProcess } from './server-process.ts';

const REQUEST_TIMEOUT_MS = 120_000;
/** Default timeout of `until`. The tests on a cluster set a longer one, because nodes report late. */
const UNTIL_TIMEOUT_MS = Number(process.env.PODYARD_TEST_TIMEOUT_MS ?? 60_000);

export interface Job {
  id: string;
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';
  delayTime?: number;
  executionTime?: number;
  workerId?: string;
  output?: unknown;
  error?: string;
  retries?: number;
}
export interface Worker {
  id: string;
  status: 'RUNNING' | 'IDLE' | 'INITIALIZING' | 'THROTTLED' | 'UNHEALTHY';
  isStale: boolean;
  version: number;
  image: string;
}
export interface LogEvent {
  id: string;
  source: 'container' | 'system';
  line: string;
  ts: string;
}

export interface LogsReading {
  after?: string;
  tail?: number;
  atMostMs?: number;
}

/** An answer other than 2xx. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/** A client of the public interface without a library. Every request has a timeout; nothing is retried. */
export class Api {
  readonly #url: string;
  readonly #key: string;
  readonly #made = new Set<string>();

  constructor(server: { url: string; key: string }) {
    this.#url = server.url;
    this.#key = server.key;
  }

  async call<T>(
    method: string,
    path: string,
    body?: unknown,
    options: { headers?: Record<string, string>; timeoutMs?: number } = {},
  ): Promise<T> {
    const response = await fetch(this.#url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(options.timeoutMs ?? REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    const { status, headers } = response;
    if (!isQueuePath(path))
      checkAnswer({ method, url: path, status, headers: Object.fromEntries(headers), body: text });
    if (!response.ok)
      throw new ApiError(response.status, `${method} ${path} was answered with ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** Creates a queue endpoint with one simulated GPU; `more` is merged into the request. */
  async createEndpoint(more: Record<string, unknown> = {}): Promise<string> {
    const { id } = await this.call<{ id: string }>('POST', '/v2/serverless', {
      name: 'e2e',
      image: 'podyard/echo-js:dev',
      gpu: { pools: ['ADA_24'] },
      ...more,
    });
    this.#made.add(id);
    return id;
  }

  patch(endpointId: string, body: object): Promise<unknown> {
    return this.call('PATCH', `/v2/serverless/${endpointId}`, body);
  }

  async delete(endpointId: string): Promise<void> {
    await this.call('DELETE', `/v2/serverless/${endpointId}`);
    this.#made.delete(endpointId);
  }

  /** Deletes all endpoints created here, so that a failed test does not keep GPUs from the next one. */
  async deleteAll(): Promise<void> {
    for (const id of this.#made) await this.delete(id);
  }

  run(endpointId: string, input: unknown, policy?: object): Promise<Job> {
    return this.call('POST', `/v2/${endpointId}/run`, { input, ...(policy ? { policy } : {}) });
  }

  status(endpointId: string, jobId: string): Promise<Job> {
    return this.call('GET', `/v2/${endpointId}/status/${jobId}`);
  }

  /** Waits until a job has ended. */
  async ended(endpointId: string, jobId: string, atMostMs = 60_000): Promise<Job> {
    const deadline = Date.now() + atMostMs;
    for (;;) {
      const job = await this.call<Job>('GET', `/v2/${endpointId}/status-sync/${jobId}?wait=5000`);
      if (job.status !== 'IN_QUEUE' && job.status !== 'IN_PROGRESS') return job;
      if (Date.now() > deadline) {
        const workers = JSON.stringify(await this.workers(endpointId));
        throw new Error(`the job is still ${job.status} after ${atMostMs} ms; workers: ${workers}`);
      }
    }
  }

  async runToEnd(endpointId: string, input: unknown, policy?: object, atMostMs?: number): Promise<Job> {
    const { id } = await this.run(endpointId, input, policy);
    return this.ended(endpointId, id, atMostMs);
  }

  async workers(endpointId: string): Promise<Worker[]> {
    return (await this.call<{ workers: Worker[] }>('GET', `/v2/serverless/${endpointId}/workers`)).workers;
  }

  /** Reads the log events of a worker. */
  logs(
    endpointId: string,
    workerId: string,
    isEnough: (events: LogEvent[]) => boolean,
    options: LogsReading = {},
  ): Promise<LogEvent[]> {
    return this.logsAt(`/v2/serverless/${endpointId}/workers/${workerId}/logs`, isEnough, options);
  }

  /** Reads log events until `isEnough`. Throws with the events so far after `atMostMs`. */
  async logsAt(
    path: string,
    isEnough: (events: LogEvent[]) => boolean,
    options: LogsReading = {},
  ): Promise<LogEvent[]> {
    const { after, tail = 5000, atMostMs = 60_000 } = options;
    const response = await fetch(`${this.#url}${path}?tail=${tail}`, {
      headers: { authorization: `Bearer ${this.#key}`, ...(after ? { 'last-event-id': after } : {}) },
      signal: AbortSignal.timeout(atMostMs),
    });
    if (!response.ok) throw new ApiError(response.status, await response.text());
    const events: LogEvent[] = [];
    let text = '';
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const parts = (text + chunk).split('\n\n');
        text = parts.pop()!;
        for (const part of parts) {
          const match = /^id: (.*)\ndata: (.*)$/.exec(part);
          if (match) events.push({ id: match[1]!, ...(JSON.parse(match[2]!) as Omit<LogEvent, 'id'>) });
        }
        if (isEnough(events)) return events;
      }
    } catch (cause) {
      throw new Error(`not enough log lines, only: ${JSON.stringify(events.map(({ line }) => line).slice(-30))}`, {
        cause,
      });
    }
    throw new Error(`the log ended, with: ${JSON.stringify(events.map(({ line }) => line).slice(-30))}`);
  }
}

/** Restores a running server without workloads, for the next test or a retry, however the last one ended. */
export async function leaveNothing(server: ServerProcess, api: Api): Promise<void> {
  if (!server.isRunning) await server.start();
  await api.deleteAll();
  await until('nothing is left', async () => (await server.listWorkloads()).length === 0);
}

/** Polls until the answer is neither undefined nor false, and returns it. Errors count as no answer until the timeout. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  atMostMs = UNTIL_TIMEOUT_MS,
): Promise<T> {
  const deadline = Date.now() + atMostMs;
  let problem: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    if (Date.now() > deadline) throw new Error(`not within ${atMostMs} ms: ${what}`, { cause: problem });
    await sleep(40);
  }
}

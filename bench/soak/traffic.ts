import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/core/errors.ts';
import { Latencies } from '../queue/latencies.ts';

export const BATCH_REQUESTS = 500;
/** Traffic repeats this often in each tenth of the run: jobs at full rate, then a pause in which workers leave. */
const BUSY_SHARE = 0.8;

/** Counts of what was done. */
export interface Done {
  jobs: number;
  batches: number;
  releases: number;
  failed: number;
}

/**
 * A day's mix on one endpoint: jobs with and without waiting, streams, progress, logs, webhooks, idempotency keys, failures,
 * cancellations, workers that crash, batches, releases and pods.
 */
export class Traffic {
  readonly done: Done = { jobs: 0, batches: 0, releases: 0, failed: 0 };
  firstFailure = '';
  /** Latencies of submissions that do not wait for the result. */
  readonly latencies = new Latencies();
  readonly #webhooks: Server = createServer((req, res) => req.resume().on('end', () => res.writeHead(204).end()));
  #webhook = '';
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #endpointId = '';

  constructor(server: { url: string; key: string }) {
    this.#url = server.url;
    this.#headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
  }

  async createEndpoint(): Promise<void> {
    const endpoint = await this.#call('POST', '/v2/serverless', {
      name: 'soak',
      image: 'podyard/echo-js:dev',
      gpu: { pools: ['ADA_24'] },
      workers: { min: 1, max: 3 },
      scaling: { type: 'REQUEST_COUNT', value: 10, idleTimeout: 1 },
      env: { ECHO_CONCURRENCY: '20' },
    });
    this.#endpointId = String(endpoint.id);
    await new Promise<void>((resolve) => this.#webhooks.listen(0, '127.0.0.1', resolve));
    this.#webhook = `http://127.0.0.1:${(this.#webhooks.address() as AddressInfo).port}/`;
    await this.#job('/runsync', { input: { echo: 1 } });
    if (this.done.failed > 0) throw new Error(this.firstFailure);
  }

  close(): void {
    this.#webhooks.close();
    this.#webhooks.closeAllConnections();
  }

  /** Plays a cycle: `rate` jobs a second for most of it, with a batch, a pod and a crash; then a release and a pause. */
  async playCycle(ms: number, rate: number): Promise<void> {
    const startedAt = performance.now();
    const running = new Set<Promise<void>>();
    const begin = (work: Promise<void>) => {
      running.add(work);
      void work.finally(() => running.delete(work));
    };
    begin(this.#batch());
    begin(this.#crash());
    const pod = this.#createPod();
    for (let n = 0; performance.now() - startedAt < ms * BUSY_SHARE; n++) {
      begin(this.#oneOf(n));
      await sleep(Math.max(0, startedAt + (n * 1000) / rate - performance.now()));
    }
    await Promise.all(running);
    begin(this.#call('DELETE', `/v2/pods/${await pod}`).then(() => {}));
    begin(this.#release());
    await sleep(Math.max(0, startedAt + ms - performance.now()));
    await Promise.all(running);
  }

  async #oneOf(n: number): Promise<void> {
    this.done.jobs += 1;
    const kind = n % 20;
    if (kind < 8) await this.#job('/run', { input: { echo: 'x'.repeat(500), logLines: 2 } });
    else if (kind === 8) await this.#job('/run', { input: { echo: n }, webhook: this.#webhook });
    else if (kind === 9) await this.#job('/run', { input: { echo: n } }, { 'idempotency-key': crypto.randomUUID() });
    else if (kind < 15) await this.#job('/runsync', { input: { echo: n, progress: [1, 2] } });
    else if (kind < 17) await this.#job('/run', { input: { stream: 5, echo: n } });
    else if (kind === 17) await this.#job('/run', { input: { throw: 'as ordered' } });
    else if (kind === 18) await this.#job('/run', { input: { bytes: 20_000 } });
    else await this.#cancelled();
  }

  async #job(path: string, body: object, headers: Record<string, string> = {}): Promise<string> {
    const startedAt = performance.now();
    const { id } = await this.#call('POST', `/v2/${this.#endpointId}${path}`, body, headers);
    if (path === '/run') this.latencies.add(performance.now() - startedAt);
    return String(id);
  }

  async #cancelled(): Promise<void> {
    const id = await this.#job('/run', { input: { delayMs: 10_000 } });
    if (id !== 'undefined') await this.#call('POST', `/v2/${this.#endpointId}/cancel/${id}`);
  }

  /** A worker's end without an order: its jobs are repeated. */
  async #crash(): Promise<void> {
    await this.#job('/run', { input: { delayMs: 50, exit: 3 } });
  }

  async #createPod(): Promise<string> {
    const { id } = await this.#call('POST', '/v2/pods', {
      name: 'soak',
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['sleep', '3600'] }),
      gpu: { id: 'NVIDIA GeForce RTX 4090' },
    });
    return String(id);
  }

  async #batch(): Promise<void> {
    const requests = Array.from({ length: BATCH_REQUESTS }, (_, n) => ({ input: { echo: n } }));
    const { id } = await this.#call('POST', `/v2/${this.#endpointId}/batch`, requests);
    await this.#call('POST', `/v2/${this.#endpointId}/batch/${id}/finalize`);
    this.done.batches += 1;
  }

  async #release(): Promise<void> {
    this.done.releases += 1;
    await this.#call('PATCH', `/v2/serverless/${this.#endpointId}`, {
      env: { ECHO_CONCURRENCY: '20', RELEASE: String(this.done.releases) },
    });
  }

  async #call(
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Record<string, unknown>> {
    try {
      const headers =
        body === undefined ? { authorization: this.#headers.authorization! } : { ...this.#headers, ...more };
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const response = await fetch(this.#url + path, init);
      const text = await response.text();
      const answer = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      if (response.ok) return answer;
      this.firstFailure ||= `${method} ${path} returned ${response.status} ${JSON.stringify(answer)}`;
    } catch (error) {
      this.firstFailure ||= `${method} ${path}: ${messageOf(error)}`;
    }
    this.done.failed += 1;
    return {};
  }
}

/**
 * A rolling update: each serving process is stopped and started again under load of clients that keep their connections. No request is
 * reset, and none that waits for its job is answered early (docs/interface/queue.md, "Waiting").
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Api } from '../e2e/api.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import { limitMs } from './extent.ts';
import { Fleet, Service } from './fleet.ts';

const READY_POLL_MS = 50;
const SHORT_CLIENTS = 6;
const LONG_CLIENTS = 3;
/** Longer than the stop delay, so that some of these jobs are awaited across it. */
const LONG_JOB_MS = 3_000;
const ENV = { PODYARD_STOP_DELAY_SECONDS: '1', PODYARD_STOP_GRACE_SECONDS: '20' };
const SCALING = { type: 'REQUEST_COUNT', value: 4, idleTimeout: 60 };

test(
  'each process is replaced under keep-alive load: no reset, no early answer, no 5xx',
  async () => {
    const fleet = await Fleet.start(ENV);
    onTestFinished(() => fleet.dispose(), 60_000);
    const balancer = await balance(fleet.data);
    const api = new Api(fleet.data[0]!);
    const endpointId = await api.createEndpoint({
      workers: { min: 2, max: 2 },
      scaling: SCALING,
      env: { ECHO_CONCURRENCY: '16' },
    });
    await api.runToEnd(endpointId, { echo: 'warm' });

    const clients = [
      ...Array.from(
        { length: SHORT_CLIENTS },
        () => new KeepAliveClient(balancer.port, fleet.data[0]!.key, endpointId, 5),
      ),
      ...Array.from(
        { length: LONG_CLIENTS },
        () => new KeepAliveClient(balancer.port, fleet.data[0]!.key, endpointId, LONG_JOB_MS),
      ),
    ];
    onTestFinished(() => void Promise.all(clients.map((client) => client.stop())));
    for (const server of fleet.data) {
      const before = clients.map(({ answers }) => answers);
      await expect.poll(() => clients.every(({ answers }, i) => answers > before[i]!), { timeout: 30_000 }).toBe(true);
      expect(await server.stop()).toBe(0);
      await server.start();
    }
    await Promise.all(clients.map((client) => client.stop()));
    const answers = clients.reduce((sum, client) => sum + client.answers, 0);
    console.log(`rolling update of two processes: ${answers} answers, 0 resets`);
    expect(clients.flatMap(({ faults }) => faults)).toEqual([]);
    expect(answers).toBeGreaterThan(30);
  },
  limitMs(180_000),
);

/** A load balancer that stops sending new connections to a process once it is not ready. */
async function balance(servers: readonly ServerProcess[]): Promise<Service> {
  const ready = new Map<number, boolean>();
  const check = async ({ url }: ServerProcess) => {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    ready.set(Number(new URL(url).port), isReady);
  };
  const timer = setInterval(() => void Promise.all(servers.map(check)), READY_POLL_MS);
  await Promise.all(servers.map(check));
  const service = await Service.listen((port) => ready.get(port) === true);
  service.ports.push(...servers.map(({ url }) => Number(new URL(url).port)));
  onTestFinished(async () => {
    clearInterval(timer);
    await service.close();
  });
  return service;
}

/** Sends one runsync after another on one connection for as long as the server keeps it; never repeats one. */
class KeepAliveClient {
  answers = 0;
  readonly faults: string[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #options: { port: number; key: string; endpointId: string; jobMs: number };
  #isStopped = false;
  readonly #loop: Promise<void>;

  constructor(port: number, key: string, endpointId: string, jobMs: number) {
    this.#options = { port, key, endpointId, jobMs };
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#loop;
    this.#agent.destroy();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const fault = await this.#ask().catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
      if (fault === null) this.answers += 1;
      else this.faults.push(fault);
      if (fault !== null) await sleep(50);
    }
  }

  /** Null for the result of the job; otherwise what came instead. */
  #ask(): Promise<string | null> {
    const { port, key, endpointId, jobMs } = this.#options;
    return new Promise((resolve, reject) => {
      const path = `/v2/${endpointId}/runsync?wait=60000`;
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const sent = request({ port, path, headers, method: 'POST', agent: this.#agent }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          const isResult = response.statusCode === 200 && text.includes('"COMPLETED"');
          resolve(isResult ? null : `${response.statusCode} ${text.slice(0, 200)}`);
        });
      });
      sent.on('error', reject);
      sent.end(JSON.stringify({ input: { echo: 'kept', delayMs: jobMs } }));
    });
  }
}

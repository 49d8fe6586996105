import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { BalancedEndpoint } from '../../../../test/balanced-endpoint.ts';
import { until } from '../../../../test/queue-plane.ts';
import type { WorkerId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { Metrics } from '../../../core/metrics.ts';
import { WorkerProber } from './probe-workers.ts';

let endpoint: BalancedEndpoint;
let prober: WorkerProber;
let servers: Server[];
let asked: { path: string; at: number }[];
let status: number;

beforeAll(async () => {
  endpoint = await BalancedEndpoint.create();
});
afterAll(() => endpoint.close());
beforeEach(() => {
  servers = [];
  asked = [];
  status = 200;
  prober = new WorkerProber({
    pool: endpoint.database.pool,
    bus: endpoint.bus,
    runtime: { reach: async (_id, port) => ({ host: '127.0.0.1', port }) },
    logs: { system: () => {} },
    metrics: new Metrics({ maxEndpoints: 0 }),
    logger: silentLogger,
  });
});
afterEach(async () => {
  await prober.stop();
  for (const server of servers) server.close();
  await endpoint.sql('delete from workers');
});

/** A program whose health path answers with `status`. */
async function listen(port = 0): Promise<number> {
  const server = createServer((req, res) => {
    asked.push({ path: req.url!, at: performance.now() });
    res.writeHead(status).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const port = await listen();
  await new Promise((resolve) => servers.pop()!.close(resolve));
  return port;
}

const row = (id: WorkerId) => endpoint.worker(id);
const serves = (id: WorkerId) =>
  until(
    () => row(id),
    (worker) => worker.serving_at !== null,
  );

test('a worker whose health path answers 200 serves, is ready, and has the address for requests', async () => {
  const port = await listen();
  const id = await endpoint.runningWorker({ http: port, health: port });
  const notified = new Promise<string>((resolve) => {
    const unsubscribe = endpoint.bus.subscribe('worker', (workerId) => {
      unsubscribe();
      resolve(workerId);
    });
  });
  prober.start();
  expect(await notified).toBe(id);
  const worker = await row(id);
  expect(worker).toMatchObject({ serving_host: '127.0.0.1', serving_port: port });
  expect(worker.ready_at).not.toBeNull();
  expect(worker.timeline.readyAt).toBeDefined();
  expect(asked[0]!.path).toBe('/ping');
});

test('the path is HEALTH_CHECK_PATH', async () => {
  const port = await listen();
  const id = await endpoint.runningWorker({ http: port, health: port }, { HEALTH_CHECK_PATH: 'v1/healthy?deep=1' });
  prober.start();
  await serves(id);
  expect(asked[0]!.path).toBe('/v1/healthy?deep=1');
});

test('a starting worker is probed many times a second, and 204 means not ready yet', async () => {
  status = 204;
  const port = await listen();
  const id = await endpoint.runningWorker({ http: port, health: port });
  prober.start();
  await until(
    () => asked.length,
    (count) => count >= 30,
    30_000,
  ); // at five seconds between tries it would take minutes
  const gaps = asked.slice(1).map(({ at }, i) => at - asked[i]!.at);
  expect(gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)]).toBeLessThan(400);
  expect((await row(id)).serving_at).toBeNull();
  status = 200;
  await serves(id);
});

test('a separate health port is probed, and the worker serves only once its other port takes connections', async () => {
  const [health, http] = [await listen(), await closedPort()];
  const id = await endpoint.runningWorker({ http, health });
  prober.start();
  const waiting = await until(
    () => row(id),
    (worker) => worker.phase_reason !== null,
  );
  expect(waiting.serving_at).toBeNull();
  expect(waiting.phase_reason).toContain(
    `GET /ping on port ${health} says that it is well, but nothing listens on port ${http}`,
  );
  await listen(http);
  await serves(id);
  expect(await row(id)).toMatchObject({ serving_port: http, phase_reason: null });
});

test('the row of a worker that does not listen says how to fix it', async () => {
  const port = await closedPort();
  const id = await endpoint.runningWorker({ http: port, health: port });
  prober.start();
  const { phase_reason: reason } = await until(
    () => row(id),
    (worker) => worker.phase_reason !== null,
  );
  expect(reason).toBe(
    `nothing listens on port ${port}: the server must listen on all interfaces, on the port that PORT says`,
  );
});

test('three bad answers in a row take a worker out of service, with a reason; one does not; 200 brings it back', async () => {
  const port = await listen();
  const id = await endpoint.runningWorker({ http: port, health: port });
  prober.start();
  await serves(id);
  status = 503;
  const before = asked.length;
  endpoint.bus.publish('worker', id); // what a load balancer does that could not reach it
  await until(
    () => asked.length,
    (count) => count > before,
  );
  status = 200;
  await until(
    () => asked.length,
    (count) => count > before + 1,
  );
  expect((await row(id)).serving_at).not.toBeNull();
  status = 503;
  endpoint.bus.publish('worker', id);
  const out = await until(
    () => row(id),
    (worker) => worker.serving_at === null,
  );
  expect(out.phase_reason).toBe(`GET /ping on port ${port} is answered with 503`);
  expect(out.wanted).toBe('RUN');
  status = 200;
  expect(await serves(id)).toMatchObject({ phase_reason: null });
});

test('a worker that answers 204 after it served gets no requests until it answers 200 again', async () => {
  const port = await listen();
  const id = await endpoint.runningWorker({ http: port, health: port });
  prober.start();
  await serves(id);
  status = 204;
  endpoint.bus.publish('worker', id);
  const out = await until(
    () => row(id),
    (worker) => worker.serving_at === null,
  );
  expect(out.phase_reason).toBeNull();
  status = 200;
  await serves(id);
});

test('while nothing is probed, workers are looked for when one that balances load was read, and not at hints about others', async () => {
  prober.start();
  await prober.runOnce();
  const reads = vi.spyOn(endpoint.database.pool, 'query');
  endpoint.bus.publish('worker', 'other');
  prober.see([{ endpointType: 'QUEUE_BASED' }]);
  await new Promise(setImmediate);
  expect(reads).not.toHaveBeenCalledWith(expect.objectContaining({ name: 'probed-workers' }));
  reads.mockRestore();
  const port = await listen();
  const id = await endpoint.runningWorker({ http: port, health: port });
  prober.see([{ endpointType: 'LOAD_BALANCING' }]);
  await serves(id);
});

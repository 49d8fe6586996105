import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { BalancedEndpoint } from '../../../test/balanced-endpoint.ts';
import { until } from '../../../test/queue-plane.ts';
import { monotonicClock, systemClock } from '../../core/clock.ts';
import type { WorkerId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Upstream } from '../proxy/upstream.ts';
import type { Attempt } from './backend.ts';
import { DemandReporter } from './demand-reporter.ts';
import { RequestBalancer } from './request-balancer.ts';

let endpoint: BalancedEndpoint;
let reporter: DemandReporter;
let balancer: RequestBalancer;

beforeAll(async () => {
  endpoint = await BalancedEndpoint.create();
});
afterAll(() => endpoint.close());
beforeEach(() => {
  const { pool } = endpoint.database;
  reporter = new DemandReporter({ pool, bus: endpoint.bus, monotonic: monotonicClock, logger: silentLogger });
  balancer = new RequestBalancer({
    maxHeld: () => 100,
    clock: systemClock,
    monotonic: monotonicClock,
    onChange: (isUrgent) => reporter.recordChange(endpoint.id, isUrgent),
    connect: (_id, { host, port }) => new Upstream({ address: host, port }),
  });
  reporter.add(endpoint.id, balancer);
  reporter.start();
});
afterEach(async () => {
  balancer.close(() => new Error('closed') as never);
  await reporter.stop();
});

const attempt = (): Attempt => ({ affinity: undefined, unreachable: undefined, retryAt: 0 });
const client = () => ({ isOver: false, onGone: null });
const rows = () =>
  endpoint.sql('select held, in_flight, oldest_held_at is not null as waits, workers from request_demand');
const ready = (id: string, concurrency = 10) =>
  balancer.update([
    { id: id as WorkerId, version: 1, state: 'ready', concurrency, at: { host: '127.0.0.1', port: 1 } },
  ]);

test('the first request is written, and the scaler is notified after that', async () => {
  const seen: Promise<unknown[]> = new Promise((resolve) => {
    const unsubscribe = endpoint.bus.subscribe('demand', () => {
      unsubscribe();
      resolve(rows());
    });
  });
  void balancer.hold(attempt(), client(), 60_000);
  expect(await seen).toEqual([{ held: 1, in_flight: 0, waits: true, workers: {} }]);
});

test('the end of the last request is written too', async () => {
  ready('a');
  const backend = balancer.acquire(attempt())!;
  await until(rows, ([row]) => row?.in_flight === 1 && row.workers.a === 1);
  balancer.release(backend);
  await until(rows, ([row]) => row?.in_flight === 0 && row.workers.a === 0);
});

test('steady load is written at most four times per second', async () => {
  ready('a', 1000);
  const first = balancer.acquire(attempt())!;
  await until(rows, ([row]) => row?.in_flight === 1);
  const queries = vi.spyOn(endpoint.database.pool, 'query');
  const from = performance.now();
  while (performance.now() - from < 1000) {
    balancer.release(balancer.acquire(attempt())!);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const writes = queries.mock.calls.filter(([query]) => (query as { name?: string }).name === 'request-demand-write');
  queries.mockRestore();
  expect(writes.length).toBeLessThanOrEqual(Math.ceil((performance.now() - from) / 250) + 1);
  balancer.release(first);
});

test('a lost row is written again while a request is held', async () => {
  void balancer.hold(attempt(), client(), 60_000);
  await until(rows, (found) => found.length === 1);
  await endpoint.sql('delete from request_demand');
  await until(rows, ([row]) => row?.held === 1);
});

test('a process that stops leaves no row behind', async () => {
  void balancer.hold(attempt(), client(), 60_000);
  await until(rows, (found) => found.length === 1);
  await reporter.stop();
  expect(await rows()).toEqual([]);
});

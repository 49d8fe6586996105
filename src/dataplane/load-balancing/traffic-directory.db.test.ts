import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BalancedEndpoint } from '../../../test/balanced-endpoint.ts';
import { monotonicClock, systemClock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { silentLogger } from '../../core/logger.ts';
import { markServing } from '../../domain/workers/serving-workers.ts';
import { DemandReporter } from './demand-reporter.ts';
import { type ReachWorker, TrafficDirectory } from './traffic-directory.ts';

let endpoint: BalancedEndpoint;
let server: Server;
let accepted: number;
let traffics: TrafficDirectory;
beforeEach(async () => {
  endpoint = await BalancedEndpoint.create();
  accepted = 0;
  server = createServer((socket) => {
    accepted += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await traffics.stop(() => new Failure('unavailable', 'stopping'));
  await new Promise((resolve) => server.close(resolve));
  await endpoint.close();
});

const portOf = (listening: Server) => (listening.address() as { port: number }).port;

/** Opens a connection to the endpoint's only worker, which the prober found serving on this port. */
async function connect(port: number, reachWorker: ReachWorker | null): Promise<string> {
  const { pool } = endpoint.database;
  const id = await endpoint.runningWorker({ http: port, health: port });
  await markServing(pool, id, { host: '127.0.0.1', port });
  const options = { pool, bus: endpoint.bus, clock: systemClock, monotonic: monotonicClock, logger: silentLogger };
  const reporter = new DemandReporter(options);
  traffics = new TrafficDirectory({ ...options, reporter, limits: { maxHeld: 1, concurrency: 1 }, reachWorker });
  const { balancer, loaded } = traffics.find(endpoint.id);
  await loaded;
  const backend = balancer.acquire({ affinity: undefined, unreachable: undefined, retryAt: 0 })!;
  expect(backend.id).toBe(id);
  return new Promise((resolve) => backend.upstream!.connect(() => resolve('connected'), resolve));
}

test('a worker with its own address is connected to where the prober found it', async () => {
  expect(await connect(portOf(server), null)).toBe('connected');
});

test('a port of this machine is connected to only while it is the worker’s', async () => {
  const asked: unknown[] = [];
  const answer = await connect(portOf(server), async (...place) => {
    asked.push(place);
    return null;
  });
  expect(answer).toBe('refused');
  expect(asked).toEqual([[expect.any(String), portOf(server)]]);
  expect(accepted).toBe(0);
});

test('the runtime’s current address is used, not the one that the prober found', async () => {
  const reach = async () => ({ host: '127.0.0.1', port: portOf(server) });
  expect(await connect(1, reach)).toBe('connected');
});

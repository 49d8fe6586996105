import type { EndpointId, KeyId, UserId } from '../../src/core/ids.ts';
import type { Actor } from '../../src/domain/access/actor.ts';
import { change } from '../../src/domain/change.ts';
import { updateEndpoint } from '../../src/domain/endpoints/update-endpoint.ts';
import { KEY } from '../queue/podyard.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import type { Served } from './audit.ts';

const bus = { publish: () => {} };

/**
 * Compares the CPU time of a change with and without its entry, of this process and the database, in turns, with that of a whole PATCH, of
 * the server and the database. Returns rows of a table.
 */
export async function measureChanges(
  served: Served,
  { rounds, count }: { rounds: number; count: number },
): Promise<string[][]> {
  const { userId, id } = await makeEndpoint(served);
  const actor: Actor = {
    ...{ userId, keyId: 'bench' as KeyId, scopes: [{ kind: 'all' }] },
    origin: { interface: 'rest', address: '203.0.113.7', requestId: 'req_0123456789' },
  };
  let value = 0;
  const next = () => ({ id, update: { workers: { max: (value++ % 5) + 1 } } });
  const { pool } = served;
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid'); // its one connection
  const pids = { patch: [served.pids.server, served.pids.database], with: [rows[0]!.pid], without: [rows[0]!.pid] };
  const bare = { db: pool, pool, actor, bus, audited: <T>(statement: T) => statement, saw: () => {} };
  const arms = {
    patch: () => patch(served.url, next()),
    with: async () => void (await change({ pool, bus }, actor, updateEndpoint, next())),
    without: async () => void (await updateEndpoint.runAtOnce!(bare, next())),
  };
  const measured = { patch: [] as number[], with: [] as number[], without: [] as number[] };
  for (let round = -1; round < rounds; round++) {
    for (const [name, run] of Object.entries(arms) as [keyof typeof arms, () => Promise<void>][]) {
      const before = cpuOf(pids[name], name);
      for (let i = 0; i < count; i++) await run();
      if (round >= 0) measured[name].push(((cpuOf(pids[name], name) - before) * 1e6) / count); // the first one compiles
    }
  }
  const least = (times: number[]) => Math.min(...times); // the least disturbed round
  const [whole, entry, none] = [least(measured.patch), least(measured.with), least(measured.without)];
  const row = (name: string, us: number) => [name, us.toFixed(0), `${((us / whole) * 100).toFixed(1)} %`];
  return [
    row('a PATCH', whole),
    row('its operation', entry),
    row('without an entry', none),
    row('entry', entry - none),
  ];
}

/** In seconds: of other processes, and of this one where it carries the change out. */
function cpuOf(pids: readonly number[], name: string): number {
  const { user, system } = process.cpuUsage();
  const own = name === 'patch' ? 0 : (user + system) / 1e6;
  return pids.reduce((sum, pid) => sum + usageOfTree(pid).cpuSeconds, own);
}

async function makeEndpoint({ url }: Served): Promise<{ userId: UserId; id: EndpointId }> {
  const account = (await call(url, 'GET', '/v2/account')) as { id: UserId };
  const body = { name: 'bench', image: 'any:1', gpu: { pools: ['ADA_24'] } };
  const { id } = (await call(url, 'POST', '/v2/serverless', body)) as { id: EndpointId };
  return { userId: account.id, id };
}

async function patch(url: string, { id, update }: { id: EndpointId; update: object }): Promise<void> {
  await call(url, 'PATCH', `/v2/serverless/${id}`, update);
}

async function call(url: string, method: string, path: string, body?: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

import type { EndpointId, KeyId, UserId } from '../../src/core/ids.ts';
import type { Actor } from '../../src/domain/access/actor.ts';
import { change } from '../../src/domain/change.ts';
import { updateEndpoint } from '../../src/domain/endpoints/update-endpoint.ts';
import { median } from '../median.ts';
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
  const bare = { db: pool, pool, actor, bus, audited: <T>(statement: T) => statement, saw: () => {} };
  const arms = {
    patch: () => patch(served.url, next()),
    with: async () => void (await change({ pool, bus }, actor, updateEndpoint, next())),
    without: async () => void (await updateEndpoint.runAtOnce!(bare, next())),
  };
  const measured = { patch: [] as number[], with: [] as number[], without: [] as number[] };
  for (let round = -1; round < rounds; round++) {
    for (const [name, run] of Object.entries(arms) as [keyof typeof arms, () => Promise<void>][]) {
      const before = cpuOf(served, name);
      for (let i = 0; i < count; i++) await run();
      if (round >= 0) measured[name].push(((cpuOf(served, name) - before) * 1e6) / count); // the first one compiles
    }
  }
  const [whole, entry, none] = [measured.patch, measured.with, measured.without].map(median) as [
    number,
    number,
    number,
  ];
  const row = (name: string, us: number) => [name, us.toFixed(0), `${((us / whole) * 100).toFixed(1)} %`];
  return [
    row('a PATCH', whole),
    row('its operation', entry),
    row('without an entry', none),
    row('entry', entry - none),
  ];
}

/** In seconds. The server's own part counts for requests alone. */
function cpuOf({ pids }: Served, name: string): number {
  const { user, system } = process.cpuUsage();
  const program = name === 'patch' ? usageOfTree(pids.server).cpuSeconds : (user + system) / 1e6;
  return program + usageOfTree(pids.database).cpuSeconds;
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

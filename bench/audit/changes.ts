import { systemClock } from '../../src/core/clock.ts';
import type { EndpointId, UserId } from '../../src/core/ids.ts';
import type { Actor } from '../../src/domain/access/actor.ts';
import { checkPermission } from '../../src/domain/access/actor.ts';
import { KeyRing } from '../../src/domain/access/key-ring.ts';
import { PERMISSIONS } from '../../src/domain/access/permissions.ts';
import { change, type Operation, type Tx } from '../../src/domain/change.ts';
import type { Endpoint } from '../../src/domain/endpoints/endpoint.ts';
import { updateEndpoint } from '../../src/domain/endpoints/update-endpoint.ts';
import { authenticateCaller } from '../../src/http/authenticate.ts';
import type { CallRequest } from '../../src/http/call-messages.ts';
import { KEY } from '../queue/podyard.ts';
import { cpuMicrosOfTree } from '../queue/process-usage.ts';
import type { Served } from './audit.ts';

const bus = { publish: () => {}, subscribe: () => () => {} };

/** Requests of a turn that run at once. */
const AT_ONCE = 20;
/** Checks of a turn, which take a few microseconds each. */
const CHECKS = 2_000;

interface Arm {
  pids: readonly number[];
  /** This process carries it out. */
  isOwn?: true;
  count: number;
  run(): unknown;
}

type Input = { id: EndpointId; update: { workers: { max: number } } };

const unaudited: Tx['audited'] = ({ name, text, values }) => ({
  name: `${name}-unaudited`,
  text: `${text} returning xmin::text as version`,
  values,
});

/** The operation of a PATCH without its entry. */
const silent: Operation<Tx, Input, Endpoint> = {
  ...updateEndpoint,
  runAtOnce: (tx, input) => updateEndpoint.runAtOnce!({ ...tx, audited: unaudited }, input),
};

/**
 * Compares the CPU time of a PATCH, of the server and the database, and the time until its answer, with those of its operation with and without an audit entry, and with
 * that of finding out who asks and whether they may. They take turns of a few changes each. Returns rows of a table.
 */
export async function measureChanges(
  served: Served,
  { rounds, count }: { rounds: number; count: number },
): Promise<string[][]> {
  const { pool, url, pids } = served;
  const { userId, id } = await makeEndpoint(served);
  const actor: Actor = {
    ...{ userId, keyId: 'k0123456789abc' as Actor['keyId'], scopes: [{ kind: 'all' }] },
    origin: { interface: 'rest', address: '203.0.113.7', requestId: 'req_0123456789' },
  };
  let value = 0;
  const next = (): Input => ({ id, update: { workers: { max: (value++ % 5) + 1 } } });
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid'); // its one connection
  const all = [pids.server, pids.database];
  const own = { pids: [rows[0]!.pid], isOwn: true, count: AT_ONCE } as const;
  const byKey = { authorization: `Bearer ${KEY}` };
  const bySession = await signIn(url);
  const keyRing = new KeyRing({ pool, bus, clock: systemClock });
  const check = async (headers: Record<string, string>) => {
    const request = {
      method: 'PATCH',
      headers: { ...headers, host: new URL(url).host },
      socket: { remoteAddress: '127.0.0.1' },
    } as unknown as CallRequest;
    for (let i = 0; i < CHECKS; i++) {
      const asked = authenticateCaller(keyRing, request);
      const found = keyRing.teams.actFor(asked instanceof Promise ? await asked : asked, undefined);
      checkPermission(found instanceof Promise ? await found : found, PERMISSIONS.writeEndpoint({ id }));
    }
  };
  const ring = { pids: [rows[0]!.pid], isOwn: true, count: 1 } as const;
  const arms = {
    patch: { pids: all, count: AT_ONCE, run: () => patch(url, byKey, next()) },
    patchBySession: { pids: all, count: AT_ONCE, run: () => patch(url, bySession, next()) },
    with: { ...own, run: () => change({ pool, bus }, actor, updateEndpoint, next()) },
    without: { ...own, run: () => change({ pool, bus }, actor, silent, next()) },
    key: { ...ring, run: () => check(byKey) },
    session: { ...ring, run: () => check(bySession) },
  } satisfies Record<string, Arm>;
  const { cpu, time } = await takeTurns(arms, { warmUp: 10, turns: Math.ceil((rounds * count) / AT_ONCE) });
  keyRing.close();
  const row = (name: string, of: (us: Record<keyof typeof arms, number>) => number) => [
    name,
    ...[cpu, time].flatMap((us) => [of(us).toFixed(1), `${((of(us) / us.patch) * 100).toFixed(1)} %`]),
  ];
  return [
    row('a PATCH with a key', (us) => us.patch),
    row('its operation', (us) => us.with),
    row('without an entry', (us) => us.without),
    row('entry', (us) => us.with - us.without),
    row('key and permission', (us) => us.key / CHECKS),
    row('session and permission', (us) => us.session / CHECKS),
    row('a PATCH with a session', (us) => us.patchBySession),
  ];
}

interface Turns<Name extends string> {
  /** Microseconds of CPU, and until the answer. */
  cpu: Record<Name, number>;
  time: Record<Name, number>;
}

/** Returns what each took: a quarter of the turns took less, and the others were disturbed more. */
async function takeTurns<Name extends string>(
  arms: Record<Name, Arm>,
  { warmUp, turns }: { warmUp: number; turns: number },
): Promise<Turns<Name>> {
  const all = Object.entries(arms) as [Name, Arm][];
  const taken = all.map(() => ({ cpu: [] as number[], time: [] as number[] }));
  for (let turn = -warmUp; turn < turns; turn++) {
    for (const [i, [, { pids, isOwn, count, run }]] of all.entries()) {
      const others = () => pids.reduce((sum, pid) => sum + cpuMicrosOfTree(pid), 0);
      const [before, ownBefore, at] = [others(), ownMicros(), performance.now()];
      for (let i = 0; i < count; i++) await run();
      const ms = performance.now() - at;
      const own = isOwn ? ownMicros() - ownBefore : 0;
      if (turn < 0) continue;
      taken[i]!.cpu.push((own + others() - before) / count);
      taken[i]!.time.push((ms * 1_000) / count);
    }
  }
  const quarter = (of: 'cpu' | 'time') =>
    Object.fromEntries(
      all.map(([name], i) => [name, taken[i]![of].sort((a, b) => a - b)[Math.floor(turns / 4)]!]),
    ) as Record<Name, number>;
  return { cpu: quarter('cpu'), time: quarter('time') };
}

function ownMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function makeEndpoint({ url }: Served): Promise<{ userId: UserId; id: EndpointId }> {
  const headers = { authorization: `Bearer ${KEY}` };
  const account = (await call(url, 'GET', '/v2/account', headers)) as { id: UserId };
  const body = { name: 'bench', image: 'any:1', gpu: { pools: ['ADA_24'] } };
  const { id } = (await call(url, 'POST', '/v2/serverless', headers, body)) as { id: EndpointId };
  return { userId: account.id, id };
}

/** Returns what the console sends with each request. */
async function signIn(url: string): Promise<Record<string, string>> {
  const response = await fetch(`${url}/sign-in/key`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` } });
  const { id, token } = (await response.json()) as { id: string; token: string };
  const cookie = response.headers.getSetCookie().at(-1)!.split(';', 1)[0]!;
  return { cookie, origin: url, 'x-podyard-session': `${id}.${token}` };
}

async function patch(url: string, headers: Record<string, string>, { id, update }: Input): Promise<void> {
  await call(url, 'PATCH', `/v2/serverless/${id}`, headers, update);
}

async function call(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

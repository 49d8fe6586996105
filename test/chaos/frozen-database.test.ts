/**
 * A database that is reachable and does not answer: submissions and results get a 503 in time instead of piling up in memory,
 * and what was accepted is there afterwards (docs/interface/queue.md, "Refusals").
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';

/** 10 seconds, and time for a busy machine. */
const BODY_WAIT_SECONDS = 12;
/** Waiting for memory, then for the database. */
const MAX_WAIT_MS = BODY_WAIT_SECONDS * 1_000 + 14_000;
const PADDING = 'x'.repeat(2 * 2 ** 20);
const AT_ONCE = 60;

let server: ServerProcess;
let api: Api;
let endpoint: string;

beforeAll(async () => {
  server = await ServerProcess.start({
    runtime: 'simulated',
    env: { PODYARD_BODY_WAIT_SECONDS: String(BODY_WAIT_SECONDS) },
  });
  api = new Api(server);
  endpoint = await api.createEndpoint({ workers: { min: 0, max: 1 } });
  await api.run(endpoint, {}); // the key and the endpoint are known
});
afterAll(() => server?.dispose());

/** The processes of PostgreSQL: the postmaster and its children. */
async function databasePids(): Promise<number[]> {
  const { pid } = await server.postmaster();
  const children = readdirSync('/proc').filter((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid;
    } catch {
      return false; // no process, or over meanwhile
    }
  });
  return [pid, ...children.map(Number)];
}

interface Submission {
  status: number;
  retryAfter: number;
  detail: string;
  id: string | undefined;
  tag: string;
}

async function submit(headers: Record<string, string>): Promise<Submission> {
  const tag = crypto.randomUUID();
  const answer = await fetch(`${server.url}/v2/${endpoint}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ input: { tag, PADDING } }),
  });
  const { detail, id } = (await answer.json()) as { detail: string; id?: string };
  return { status: answer.status, retryAfter: Number(answer.headers.get('retry-after')), detail, id, tag };
}

test.each([
  ['without a key', () => ({})],
  ['with an Idempotency-Key each', () => ({ 'idempotency-key': crypto.randomUUID() })],
])('while the database is frozen, jobs %s get a 503 in time, and the next are accepted', async (_, headers) => {
  const pids = await databasePids();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  let refused: Submission[];
  let tookMs: number;
  try {
    const all = Array.from({ length: AT_ONCE }, () => submit(headers() as Record<string, string>));
    tookMs = await fairMs(() => Promise.all(all));
    refused = await Promise.all(all);
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
  for (const { status, retryAfter } of refused) {
    expect(status).toBe(503);
    expect(retryAfter).toBeGreaterThan(0);
  }
  expect(tookMs).toBeLessThan(MAX_WAIT_MS);
  expect(refused.some(({ detail }) => detail.includes('it may be stored later'))).toBe(true);
  const accepted = await Promise.all(Array.from({ length: 5 }, () => submit(headers() as Record<string, string>)));
  for (const { status, id } of accepted) {
    expect(status).toBe(200);
    expect((await api.status(endpoint, id!)).status).toBe('IN_QUEUE');
  }
  const rows = await server.query<{ head: string }>(`select left(input, 80) as head from jobs where endpoint_id = $1`, [
    endpoint,
  ]);
  const stored = rows.map(({ head }) => /"tag":"([^"]+)"/.exec(head)?.[1]);
  for (const { detail, tag } of refused) if (!detail.includes('may be stored')) expect(stored).not.toContain(tag);
});

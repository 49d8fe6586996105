import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { METRICS_TOKEN, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { systemClock } from '../../core/clock.ts';
import type { EndpointId } from '../../core/ids.ts';
import { createApiKey } from '../../domain/access/create-api-key.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';

const DOCS = new URL('../../../docs/operations.md', import.meta.url);
const DASHBOARD = new URL('../../../deploy/grafana/podyard-dashboard.json', import.meta.url);
const ALERTS = new URL('../../../deploy/helm/podyard/files/alerts.yaml', import.meta.url);
const SAMPLE = /^([a-z_]+)(?:\{([a-z_]+="[^"\\]*"(?:,[a-z_]+="[^"\\]*")*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;

let rest: RestFixture;
let keyWith: (scope: string) => Promise<string>;
beforeAll(async () => {
  rest = await startRestApp({ maxMetricsEndpoints: 2 });
  const { pool } = rest.database;
  const user = await createUser(pool, { name: 'admin', email: null, role: 'ADMIN' });
  keyWith = async (scope) => {
    const input = { userId: user.id, name: 'k', scopes: [parseScope(scope)], expiresAt: null };
    return (await change({ pool, bus: { publish: () => {} }, clock: systemClock }, null, createApiKey, input)).secret;
  };
});
afterAll(() => rest.close());

const scrape = (key?: string) => rest.call('GET', '/metrics', key === undefined ? {} : { key });

/** Parses families with their type, and samples by name and labels. Throws on any other line. */
async function read(): Promise<{ families: Map<string, string>; samples: Map<string, number> }> {
  const text = (await scrape(METRICS_TOKEN)).body;
  const families = new Map<string, string>();
  const samples = new Map<string, number>();
  for (const line of text.trimEnd().split('\n')) {
    const [, type, family, kind] = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line) ?? [];
    if (type === 'TYPE') families.set(family!, kind!);
    if (type !== undefined) continue;
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a sample: ${line}`);
    const id = `${name}{${labels}}`;
    if (samples.has(id)) throw new Error(`twice: ${id}`);
    samples.set(id, Number(value));
  }
  return { families, samples };
}

async function newEndpoint(): Promise<EndpointId> {
  const body = { name: 'x', image: 'any:v1', gpu: { pools: ['ADA_24'] } };
  return (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
}

test("only the operator's key or the scraper's token opens it", async () => {
  const answer = await scrape(METRICS_TOKEN);
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect((await scrape(await keyWith('account:read'))).statusCode).toBe(200);
  expect((await scrape()).statusCode).toBe(401);
  expect((await scrape(`${METRICS_TOKEN}x`)).statusCode).toBe(401);
  expect((await scrape(await keyWith('serverless:read'))).statusCode).toBe(403);
  const foreign = await scrape(rest.alice.key);
  expect(foreign.statusCode).toBe(403);
  expect(foreign.json()).toEqual((await scrape(await keyWith('serverless:read'))).json());
  expect((await rest.call('GET', '/v2/account', { key: METRICS_TOKEN })).statusCode).toBe(401);
});

test('docs/operations.md describes exactly the families that exist', async () => {
  const { families } = await read();
  const described = [...(await readFile(DOCS, 'utf8')).matchAll(/^\| `([a-z_]+)`/gm)].map(([, name]) => name!);
  const metrics = described.filter((name) => /^(podyard|process|nodejs)_/.test(name));
  expect(metrics.toSorted()).toEqual([...families.keys()].toSorted());
});

async function readExpressions(): Promise<string[]> {
  const dashboard = JSON.parse(await readFile(DASHBOARD, 'utf8'));
  const panels = dashboard.panels.flatMap((panel: { targets?: { expr: string }[] }) =>
    (panel.targets ?? []).map(({ expr }) => expr),
  );
  const alerts = parse(await readFile(ALERTS, 'utf8')).groups[0].rules.map(({ expr }: { expr: string }) => expr);
  expect(panels.length).toBeGreaterThan(15);
  expect(alerts.length).toBeGreaterThan(10);
  return [...panels, ...alerts].filter((expression) => !expression.startsWith('up{')); // Prometheus' own
}

test('every dashboard panel and alert rule queries existing families', async () => {
  const { families } = await read();
  for (const expression of await readExpressions()) {
    const names = expression.match(/\b(podyard|process|nodejs)_[a-z_]+/g) ?? [];
    expect(names, expression).not.toEqual([]);
    for (const name of names) {
      const family = name.replace(/_(bucket|sum|count)$/, '');
      expect(families.has(name) || families.get(family) === 'histogram', `${name} of ${expression}`).toBe(true);
    }
  }
});

test('queued and running jobs are counted per endpoint, with the age of the oldest', async () => {
  const id = await newEndpoint();
  const { pool } = rest.database;
  await pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl, created_at)
     select 'old', $1, 'IN_QUEUE', true, false, '{}', now() + interval '1 day', false, now() - interval '1 hour'
     union all select 'new', $1, 'IN_QUEUE', false, false, '{}', now() + interval '1 day', false, now()`,
    [id],
  );
  await pool.query(
    "insert into endpoint_counters (endpoint_id, lane, queued, queued_low, in_progress) values ($1, 'a', 1, 0, 4), ($1, 'b', 0, 1, -1)",
    [id],
  );
  const { samples } = await read();
  expect(samples.get(`podyard_queue_jobs{endpoint="${id}"}`)).toBe(2);
  expect(samples.get(`podyard_jobs_in_progress{endpoint="${id}"}`)).toBe(3);
  expect(samples.get(`podyard_queue_oldest_seconds{endpoint="${id}"}`)).toBeGreaterThanOrEqual(3600);
  expect(samples.get(`podyard_queue_oldest_seconds{endpoint="${id}"}`)).toBeLessThan(3900);
  await pool.query('delete from jobs');
  await pool.query('delete from endpoint_counters');
});

test('workers are counted by the status that users see; frozen ones with their memory', async () => {
  const id = await newEndpoint();
  const add = (workerId: string, columns: object) => {
    const names = Object.keys(columns);
    return rest.database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, ${names.join()})
       values ($1, $2, $3, 1, '', '{}', ${names.map((_, i) => `$${i + 4}`).join()})`,
      [workerId, id, rest.alice.userId, ...Object.values(columns)],
    );
  };
  await add('w1', { phase: 'RUNNING', ready_at: new Date() });
  await add('w2', { phase: 'RUNNING', ready_at: new Date() });
  await add('w3', { phase: 'PENDING', phase_reason: 'no capacity: none of it is free' });
  await add('w4', { phase: 'STARTING' });
  await add('w5', { phase: 'PENDING', is_lost: true, phase_reason: 'it crashed' });
  await add('w6', { phase: 'FROZEN', memory_bytes: 1000 });
  await add('w7', { phase: 'EXITED' });
  const { samples } = await read();
  const count = (state: string) => samples.get(`podyard_workers{endpoint="${id}",state="${state}"}`);
  const states = ['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'];
  expect(states.map(count)).toEqual([0, 2, 1, 1, 1]);
  const inState = (endpoint: string, state: string) =>
    samples.get(`podyard_endpoint_state{endpoint="${endpoint}",state="${state}"}`);
  expect(['HEALTHY', 'FAILING', 'PAUSED'].map((state) => inState(id, state))).toEqual([1, 0, 0]);
  expect(samples.get('podyard_frozen_workers{}')).toBe(1);
  expect(samples.get('podyard_frozen_memory_bytes{}')).toBe(1000);
  await rest.database.pool.query('delete from workers');
});

test('endpoints above the limit share one series; deleting one frees its series', async () => {
  const { metrics } = rest;
  await read(); // drops the endpoints of other tests, which have no work
  await rest.database.pool.query('delete from endpoints');
  await read();
  const [first, second, third] = [await newEndpoint(), await newEndpoint(), await newEndpoint()];
  for (const id of [first, second, third, third]) metrics.jobEnded(id, 'COMPLETED', 20, 2_000);
  const { samples } = await read();
  const ended = (endpoint: string) =>
    samples.get(`podyard_jobs_ended_total{endpoint="${endpoint}",status="COMPLETED"}`);
  expect([first, second, third, 'other'].map(ended)).toEqual([1, 1, undefined, 2]);
  const bucket = (le: string) => samples.get(`podyard_job_execution_seconds_bucket{endpoint="${first}",le="${le}"}`);
  expect(['1', '2.5', '+Inf'].map(bucket)).toEqual([0, 1, 1]);
  expect(samples.get(`podyard_job_execution_seconds_sum{endpoint="${first}"}`)).toBe(2);
  await rest.call('DELETE', `/v2/serverless/${first}`, { key: rest.alice.key });
  await read();
  metrics.jobEnded(third, 'FAILED', null, null);
  const later = (await read()).samples;
  expect(later.get(`podyard_jobs_ended_total{endpoint="${third}",status="FAILED"}`)).toBe(1);
  expect(later.has(`podyard_jobs_ended_total{endpoint="${first}",status="COMPLETED"}`)).toBe(false);
});

test('requests are counted by route and status; unknown paths create no series', async () => {
  const { key } = rest.alice;
  await rest.call('GET', '/v2/serverless/no-such-endpoint', { key });
  await rest.call('GET', '/v2/made/up/canary', { key });
  await rest.call('DELETE', '/healthz', { key });
  await rest.graphql('{ myself { id } }', { key });
  const { samples } = await read();
  const requests = [...samples.keys()].filter((id) => id.startsWith('podyard_api_requests_total'));
  const count = (api: string, route: string, status: number) =>
    samples.get(`podyard_api_requests_total{api="${api}",route="${route}",status="${status}"}`);
  expect(count('rest', 'GET /v2/serverless/:id', 404)).toBe(1);
  expect(count('rest', 'none', 404)).toBe(1);
  expect(count('rest', 'none', 405)).toBe(1);
  expect(count('graphql', 'POST /graphql', 200)).toBe(1);
  expect(requests.join()).not.toContain('canary');
  expect(samples.get('podyard_api_request_seconds_count{api="rest",route="GET /v2/serverless/:id"}')).toBe(1);
});

test('without the database the token still works, and the process reports its own metrics in time', async () => {
  const other = await startRestApp();
  await other.database.pool.end();
  try {
    const answer = await other.call('GET', '/metrics', { key: METRICS_TOKEN });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('podyard_database_up 0\n');
    expect(answer.body).toContain('process_resident_memory_bytes ');
    expect(answer.body).not.toContain('podyard_workers');
  } finally {
    await other.app.close();
    await other.bus.stop();
  }
});

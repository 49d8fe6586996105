/**
 * Many large bodies at once fill neither the memory nor the queue of the others: docs/interface/queue.md, "Refusals", and
 * docs/interface/worker-api.md, "Results".
 */
import { type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { hashSecret } from '../../src/domain/access/secret-hash.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';
import { FakeWorker } from '../fake-worker.ts';
import { Neighbor, workerApiUrl } from './neighbor.ts';
import { peakRssMb, resetPeakRss } from './peak-rss.ts';
import { createTenant } from './tenant.ts';

const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';
const SUBMITS = { count: isThorough ? 200 : 60, bytes: 8 * 2 ** 20 };
const RESULTS = { count: isThorough ? 80 : 24, bytes: 15 * 2 ** 20 };
const MAX_RSS_MB = 700;
/** For the neighbor, in a storm of a few seconds on a busy machine. */
const MAX_P99_MS = 1_000;
/** For /healthz on a busy machine. */
const MAX_HEALTH_MS = 3_000;
const TOKEN = 'pyw_storm';

let server: ServerProcess;
let key: string;
let api: Api;
let neighbor: Neighbor;

beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'simulated', gpus: 'ADA_24:10' });
  ({ key } = await createTenant(server, 'attacker'));
  api = new Api({ url: server.url, key });
});
beforeEach(async () => {
  neighbor = await Neighbor.start(server, { name: `neighbor ${Math.random()}`, pauseMs: 20 });
});
afterEach(() => neighbor?.stop());
afterAll(() => server?.dispose());

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Unlike `fetch`, node:http sends a buffer that many requests share without copying it. */
function post(url: string, authorization: string, body: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, 'content-type': 'application/json', 'content-length': body.length };
    const sending = request(url, { method: 'POST', headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }));
      answer.on('error', reject);
    });
    sending.on('error', reject).end(body);
  });
}

/** Probes /healthz until `stop`, which returns the longest response time in milliseconds, less what the machine owes to other work. */
function watchHealth(): { stop: () => Promise<number> } {
  let slowestMs = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const ask = async () => expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      slowestMs = Math.max(slowestMs, await fairMs(ask));
      await sleep(50);
    }
  })();
  const stop = async () => {
    isOver = true;
    await watching;
    return slowestMs;
  };
  watching.catch(() => {}); // after a failed test nothing waits for it
  onTestFinished(() => {
    isOver = true;
  });
  return { stop };
}

function expectRefusal({ status, headers, text }: Answer): void {
  expect(status).toBe(503);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  expect(text).not.toMatch(/database(?! has not answered)/);
}

async function storedJobs(endpoint: string): Promise<Set<string>> {
  const rows = await server.query<{ id: string }>('select id from jobs where endpoint_id = $1', [endpoint]);
  return new Set(rows.map(({ id }) => id));
}

test('jobs of 8 MB at once wait their turn and are all accepted, within the memory', async () => {
  const endpoint = await api.createEndpoint({ workers: { min: 0, max: 1 } }); // its queue holds 500
  const body = Buffer.from(JSON.stringify({ input: 'x'.repeat(SUBMITS.bytes) }));
  const health = watchHealth();
  resetPeakRss(server.pid);
  const answers = await Promise.all(
    Array.from({ length: SUBMITS.count }, () => post(`${server.url}/v2/${endpoint}/run`, key, body)),
  );
  const slowestMs = await health.stop();
  const accepted = answers.filter(({ status }) => status === 200).map(({ text }) => JSON.parse(text).id as string);
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(new Set(accepted)).toEqual(await storedJobs(endpoint));
  expect(slowestMs).toBeLessThan(MAX_HEALTH_MS);
  expect(peakRssMb(server.pid)).toBeLessThan(MAX_RSS_MB);
  await neighbor.expectUnharmed('a storm of jobs', MAX_P99_MS);
}, 300_000);

/** Puts a worker of the endpoint under the control of this test. */
async function fakeWorker(endpoint: string): Promise<FakeWorker> {
  const id = await until('a worker runs', async () => {
    const running = "select id from workers where endpoint_id = $1 and phase = 'RUNNING'";
    return (await server.query<{ id: string }>(running, [endpoint]))[0]?.id;
  });
  await server.query('update workers set token_hash = $2 where id = $1', [id, hashSecret(TOKEN)]);
  await server.query("select pg_notify('podyard', $1)", [JSON.stringify(['test', 'worker', id])]);
  const worker = new FakeWorker({
    apiUrl: await workerApiUrl(server),
    endpointId: endpoint,
    workerId: id,
    token: TOKEN,
  });
  await until('its token is known', async () => (await worker.ping()).status === 200);
  return worker;
}

/** Sends a result until it is accepted, as workers do. */
async function finish(url: string, body: Buffer): Promise<void> {
  for (;;) {
    const answer = await post(url, TOKEN, body);
    if (answer.status === 200) return;
    expectRefusal(answer);
    await sleep(1_000);
  }
}

test('results of 15 MB at once all arrive, within the memory', async () => {
  const endpoint = await api.createEndpoint({ workers: { min: 1, max: 1 } });
  const worker = await fakeWorker(endpoint);
  for (let n = 0; n < RESULTS.count; n++) await api.run(endpoint, {});
  const ids: string[] = [];
  while (ids.length < RESULTS.count) for (const { id } of (await worker.takeBatch(100)).body) ids.push(id);
  const body = Buffer.from(JSON.stringify({ output: 'x'.repeat(RESULTS.bytes) }));
  const health = watchHealth();
  resetPeakRss(server.pid);
  await Promise.all(ids.map((id) => finish(worker.resultUrl(id), body)));
  const slowestMs = await health.stop();
  const [ended] = await server.query<{ count: number }>(
    "select count(*)::int as count from finished_jobs where endpoint_id = $1 and status = 'COMPLETED' and length(output) > $2",
    [endpoint, RESULTS.bytes],
  );
  expect(ended!.count).toBe(RESULTS.count);
  expect(slowestMs).toBeLessThan(MAX_HEALTH_MS);
  expect(peakRssMb(server.pid)).toBeLessThan(MAX_RSS_MB);
  await neighbor.expectUnharmed('a storm of results', MAX_P99_MS);
}, 300_000);

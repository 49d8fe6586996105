import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

const TOKEN = 'scrape-me-if-you-can';
/** Part of every payload; must appear in no log line, span or metric. */
const CANARY = 'canary7f3a';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN = 'b7ad6b7169203331';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number };
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

/** Collects spans in OTLP's JSON format, and receives webhooks. */
class Receiver {
  readonly #server: Server;
  readonly spans: Span[] = [];
  readonly webhooks: IncomingHttpHeaders[] = [];
  /** The raw text of all spans. */
  text = '';

  constructor() {
    this.#server = createServer(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      if (req.url === '/v1/traces') this.#takeSpans(text);
      else this.webhooks.push(req.headers);
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }

  #takeSpans(text: string): void {
    this.text += text;
    const { resourceSpans } = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    this.spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
  }

  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

let receiver: Receiver;
let receiverUrl: string;
let database: TestDatabase;
let server: ServerProcess;
let api: Api;
let endpointId: string;
beforeAll(async () => {
  receiver = new Receiver();
  receiverUrl = await receiver.start();
  database = await createTestDatabase();
  const env = {
    PODYARD_METRICS_TOKEN: TOKEN,
    PODYARD_ALLOW_PRIVATE_WEBHOOKS: 'true',
    PODYARD_LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiverUrl,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env });
  api = new Api(server);
  endpointId = await api.createEndpoint({ workers: { min: 0, max: 1 } });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  receiver?.stop();
});

/** Returns the value of a metric; undefined when there is none. */
async function figure(sample: string): Promise<number | undefined> {
  const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const line = (await answer.text()).split('\n').find((candidate) => candidate.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

async function submit(input: object): Promise<string> {
  const headers = { traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-01`, tracestate: 'vendor=1' };
  const body = { input: { ...input, secret: CANARY }, webhook: `${receiverUrl}/hook?key=${CANARY}` };
  const job = await api.call<{ id: string }>('POST', `/v2/${endpointId}/run`, body, { headers });
  return job.id;
}

const attribute = (span: Span, key: string) => {
  const value = span.attributes.find((candidate) => candidate.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
};

test('metrics change when a job runs', async () => {
  const label = `endpoint="${endpointId}"`;
  const ended = `podyard_jobs_ended_total{${label},status="COMPLETED"}`;
  expect((await figure(ended)) ?? 0).toBe(0);
  await api.runToEnd(endpointId, { echo: CANARY, delayMs: 20 });
  expect(await figure(ended)).toBe(1);
  expect(await figure(`podyard_jobs_submitted_total{${label}}`)).toBe(1);
  expect(await figure(`podyard_job_execution_seconds_count{${label}}`)).toBe(1);
  expect(await figure(`podyard_job_execution_seconds_sum{${label}}`)).toBeGreaterThan(0.015);
  expect(await figure(`podyard_job_wait_seconds_count{${label}}`)).toBe(1);
  expect(await figure('podyard_cold_start_stage_seconds_count{stage="ready"}')).toBe(1);
  for (const route of ['api="queue",route="run"', 'api="worker",route="job-done"']) {
    const count = `podyard_api_requests_total{${route},status="200"}`;
    await until(`${route} is counted`, async () => (await figure(count)) === 1); // once the answer was sent
  }
  expect(await figure(`podyard_queue_jobs{${label}}`)).toBe(0);
  await until('the worker is idle', async () => {
    const idle = await figure(`podyard_workers{${label},state="IDLE"}`);
    return idle === 1;
  });
  expect(await figure('podyard_database_up')).toBe(1);
  await until('a second has passed', async () => (await figure('podyard_event_loop_lag_seconds_count'))! > 0);
});

test('requests to a load-balancing endpoint are counted with their duration, including rejected ones', async () => {
  const image = 'podyard/web-js:dev';
  const id = await api.createEndpoint({ type: 'LOAD_BALANCING', image, workers: { min: 0, max: 1 } });
  const ask = (headers: Record<string, string>) => fetch(`${server.url}/v2/${id}/lb/`, { headers });
  expect((await ask({ authorization: `Bearer ${server.key}` })).status).toBe(200);
  expect((await ask({})).status).toBe(401);
  const count = (statusClass: string) =>
    figure(`podyard_proxy_request_seconds_count{plane="endpoint",class="${statusClass}"}`);
  await until('both are counted', async () => (await count('2xx')) === 1 && (await count('4xx')) === 1);
  expect(await figure('podyard_cold_start_stage_seconds_count{stage="ready"}')).toBe(2);
  await api.delete(id);
});

test('a trace leads from the client through submit, wait and run to the webhook', async () => {
  const jobId = await submit({ delayMs: 50, trace: true });
  const { output } = await api.ended(endpointId, jobId);
  const named = await until('all spans are there', async () => {
    const own = receiver.spans.filter((span) => attribute(span, 'podyard.job.id') === jobId);
    const byName = new Map(own.map((span) => [span.name, span]));
    return ['job submit', 'job wait', 'job run', 'job webhook'].every((name) => byName.has(name)) && byName;
  });
  const [submitted, waited, ran, delivered] = ['job submit', 'job wait', 'job run', 'job webhook'].map(
    (name) => named.get(name)!,
  );
  for (const span of named.values()) expect(span.traceId).toBe(TRACE_ID);
  expect(submitted!.parentSpanId).toBe(CLIENT_SPAN);
  expect(output).toEqual({ traceparent: `00-${TRACE_ID}-${submitted!.spanId}-01` }); // the handler's trace context
  for (const span of [waited, ran, delivered]) expect(span!.parentSpanId).toBe(submitted!.spanId);
  expect(BigInt(waited!.endTimeUnixNano)).toBe(BigInt(ran!.startTimeUnixNano));
  expect(Number(BigInt(ran!.endTimeUnixNano) - BigInt(ran!.startTimeUnixNano)) / 1e6).toBeGreaterThanOrEqual(49);
  expect(attribute(ran!, 'podyard.job.status')).toBe('COMPLETED');
  expect(attribute(ran!, 'podyard.endpoint.id')).toBe(endpointId);
  expect(receiver.webhooks.at(-1)).toMatchObject({
    traceparent: `00-${TRACE_ID}-${delivered!.spanId}-01`,
    tracestate: 'vendor=1',
  });
});

test('a failed job has a failed span, without its error text', async () => {
  const jobId = await submit({ throw: `${CANARY} happened` });
  expect((await api.ended(endpointId, jobId)).error).toContain(CANARY);
  const ran = await until('its span is there', async () =>
    receiver.spans.find((span) => span.name === 'job run' && attribute(span, 'podyard.job.id') === jobId),
  );
  expect(ran.status.code).toBe(2);
});

test('the debug log is JSON with ids; no payload, key or token appears in it, in spans or in metrics', async () => {
  const { key, url } = server;
  const headers = { authorization: `Bearer ${key}` };
  const post = (path: string, body: string) =>
    fetch(`${url}${path}`, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body });
  await post(`/v2/${endpointId}/run`, `{"input": ${CANARY}}`); // not JSON
  await post(`/v2/${endpointId}/run`, `{"input": 1, "webhook": "${CANARY}"}`);
  await post(`/v2/${endpointId}/${CANARY}/${CANARY}`, `"${CANARY}"`);
  await post(`/v2/account/secrets`, JSON.stringify({ name: 'password', value: CANARY }));
  await post(`/graphql?api_key=${key}`, JSON.stringify({ query: `{ ${CANARY} }` }));
  await fetch(`${url}/v2/serverless/x?token=${CANARY}`, { headers });
  await api.runToEnd(endpointId, { stream: 2, echo: CANARY, progress: [CANARY] });
  const jobId = await submit({ echo: CANARY });
  await api.ended(endpointId, jobId);
  const figures = await (await fetch(`${url}/metrics`, { headers })).text();
  const id = expect.any(String);
  const ids = { endpointId, jobId };
  const expected = [
    { api: 'queue', route: 'run', requestId: id, userId: id, ...ids, status: 200 },
    { api: 'worker', route: 'job-done', workerId: id, ...ids, status: 200 },
    { msg: 'job ended', workerId: id, ...ids, status: 'COMPLETED' },
    { msg: 'request', route: 'POST /v2/serverless', requestId: id, userId: id, method: 'POST', status: 201 },
    { msg: 'worker started', workerId: id, endpointId },
  ].map((fields) => expect.objectContaining(fields));
  await until('everything is logged', async () => {
    const whole = server.stderr.slice(0, server.stderr.lastIndexOf('\n'));
    const entries = whole.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
    expect(entries).toEqual(expect.arrayContaining(expected));
    return true;
  });
  for (const text of [server.stderr, receiver.text, figures]) {
    expect(text.length).toBeGreaterThan(100);
    for (const secret of [CANARY, key, TOKEN]) expect(text.includes(secret), text.slice(0, 300)).toBe(false);
  }
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { appendLogLines } from '../../domain/logs/append-log-lines.ts';
import type { LogSource } from '../../domain/logs/log-line.ts';

interface LogEvent {
  id: string;
  source: LogSource;
  line: string;
  ts: string;
}

let rest: RestFixture;
let server: Server;
let base: string;
let endpointId: string;
let workerId: string;
let workerCount = 0;
const open: AbortController[] = [];

beforeAll(async () => {
  rest = await startRestApp();
  server = createServer((request, response) => rest.app.routing(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = { name: 'x', image: 'i', gpu: { pools: ['ADA_24'] } };
  endpointId = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});
beforeEach(async () => {
  workerId = `worker${++workerCount}`;
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ($1, $2, $3, 1, '', '{}')`,
    [workerId, endpointId, rest.alice.userId],
  );
});
afterEach(() => {
  for (const controller of open.splice(0)) controller.abort();
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rest.close();
});

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

async function append(lines: readonly string[], source: LogSource = 'container', second = 0): Promise<void> {
  await appendLogLines(
    rest.database.pool,
    lines.map((line, i) => ({ workloadId: workerId, ts: at(second + i), source, line })),
  );
  rest.bus.publish('log', workerId);
}

function path(query = ''): string {
  return `/v2/serverless/${endpointId}/workers/${workerId}/logs${query}`;
}

/** Opens the stream; `next(n)` resolves with the next n events. */
async function follow(query = '', headers: Record<string, string> = {}) {
  const controller = new AbortController();
  open.push(controller);
  const response = await fetch(base + path(query), {
    headers: { authorization: `Bearer ${rest.alice.key}`, ...headers },
    signal: controller.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (count: number): Promise<LogEvent[]> => {
    const events: LogEvent[] = [];
    while (events.length < count) {
      const end = text.indexOf('\n\n');
      if (end === -1) {
        const { value, done } = await reader.read();
        if (done) throw new Error('the stream has ended');
        text += value;
        continue;
      }
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const [, id, data] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? [];
      if (id !== undefined) events.push({ id, ...JSON.parse(data!) });
    }
    return events;
  };
  return { response, next, controller, reader };
}

const texts = (events: readonly LogEvent[]) => events.map((event) => event.line);

test('streams lines as server-sent events with ids, then new ones as they are stored', async () => {
  await append(['one', 'two']);
  const { response, next } = await follow();
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toBe('no-cache');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  expect(response.headers.get('x-request-id')).toBeTruthy();
  const [first, second] = await next(2);
  expect(first).toEqual({
    id: expect.stringMatching(/^2026-01-01T00:00:00\.000Z\/\d{12}$/),
    source: 'container',
    line: 'one',
    ts: '2026-01-01T00:00:00.000Z',
  });
  expect(second!.line).toBe('two');
  await append(['three']);
  expect(texts(await next(1))).toEqual(['three']);
});

test('headers arrive at once, even without a line', async () => {
  const { response } = await follow();
  expect(response.status).toBe(200);
});

test('tail sets how many stored lines come first: 100 by default, none for 0', async () => {
  await append(Array.from({ length: 150 }, (_, i) => `line ${i}`));
  expect(texts(await (await follow()).next(100))[0]).toBe('line 50');
  expect(texts(await (await follow('?tail=2')).next(2))).toEqual(['line 148', 'line 149']);
  const { next } = await follow('?tail=0');
  await append(['new']);
  expect(texts(await next(1))).toEqual(['new']);
});

test('source selects container or system lines, stored and new', async () => {
  await append(['out']);
  await append(['pulling'], 'system');
  const { next } = await follow('?source=system');
  expect(texts(await next(1))).toEqual(['pulling']);
  await append(['out again']);
  await append(['started'], 'system');
  expect(texts(await next(1))).toEqual(['started']);
});

test('since starts at a time, inclusive, and overrides tail', async () => {
  await append(['a', 'b', 'c']);
  const { next } = await follow(`?since=${at(1).toISOString()}&tail=0`);
  expect(texts(await next(2))).toEqual(['b', 'c']);
});

test('resuming from an event id neither loses nor repeats a line, and wins over the query', async () => {
  await append(['a', 'b', 'c']);
  const [, b] = await (await follow()).next(2);
  await append(['d'], 'container', 1); // earlier than c, but the sequence decides
  const { next } = await follow('?tail=0', { 'last-event-id': b!.id });
  expect(texts(await next(2))).toEqual(['c', 'd']);
});

test('a bare timestamp is accepted as an event id', async () => {
  await append(['a', 'b', 'c']);
  const { next } = await follow('', { 'last-event-id': at(1).toISOString() });
  expect(texts(await next(1))).toEqual(['c']);
});

test('lines beyond one batch arrive in order', async () => {
  const lines = Array.from({ length: 1234 }, (_, i) => `${i}`);
  await append(lines);
  const { next } = await follow(`?since=${at(0).toISOString()}`);
  expect(texts(await next(lines.length))).toEqual(lines);
});

test('a line is one event, whatever its content', async () => {
  const line = 'data: x\n\nid: 7\r\n\u2028é🦄"';
  await append([line]);
  expect(texts(await (await follow()).next(1))).toEqual([line]);
});

test('lines of another worker do not appear', async () => {
  await append(['mine']);
  const mine = workerId;
  workerId = 'another';
  await append(['theirs']);
  workerId = mine;
  expect(texts(await (await follow()).next(1))).toEqual(['mine']);
});

test('a stream unsubscribes when its client disconnects', async () => {
  const unsubscribed = vi.fn();
  const subscribe = rest.bus.subscribe.bind(rest.bus);
  const spy = vi.spyOn(rest.bus, 'subscribe').mockImplementation((topic, listener) => {
    const unsubscribe = subscribe(topic, listener);
    return () => {
      unsubscribed();
      unsubscribe();
    };
  });
  const { controller, next } = await follow();
  await append(['one']);
  await next(1);
  spy.mockRestore();
  expect(unsubscribed).not.toHaveBeenCalled();
  controller.abort();
  await vi.waitFor(() => expect(unsubscribed).toHaveBeenCalledOnce(), { timeout: 2000, interval: 10 });
});

test('a slow client applies backpressure to reading the log', async () => {
  const line = 'x'.repeat(8_000);
  for (let i = 0; i < 8; i++) await append(Array.from({ length: 500 }, () => line));
  const queries = vi.spyOn(rest.database.pool, 'query');
  const { reader, controller } = await follow(`?since=${at(0).toISOString()}`);
  await reader.read();
  const reads = () => queries.mock.calls.filter(([sql]) => String(sql).includes('with portion')).length;
  await new Promise((resolve) => setTimeout(resolve, 300));
  const held = reads();
  expect(held).toBeLessThan(8);
  queries.mockRestore();
  controller.abort();
});

test('streams end when the app closes', async () => {
  const other = await startRestApp();
  const body = { name: 'x', image: 'i', gpu: { pools: ['ADA_24'] } };
  const { id } = (await other.call('POST', '/v2/serverless', { key: other.alice.key, body })).json();
  await other.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ('w', $1, $2, 1, '', '{}')`,
    [id, other.alice.userId],
  );
  const response = await other.app.inject({
    url: `/v2/serverless/${id}/workers/w/logs`,
    headers: { authorization: `Bearer ${other.alice.key}` },
    payloadAsStream: true, // resolves with the headers
  });
  expect(response.statusCode).toBe(200);
  await other.close();
  for await (const _ of response.stream()); // until it ends
});

test.each(['tail=-1', 'tail=5001', 'tail=x', 'source=stdout', 'since=yesterday'])('%s is a 422', async (query) => {
  const response = await rest.call('GET', path(`?${query}`), { key: rest.alice.key });
  expect(response.statusCode).toBe(422);
  expect(response.json().errors[0]).toMatch(new RegExp(`^query/${query.split('=')[0]}: must be `));
});

test('an invalid Last-Event-ID is a 400', async () => {
  const headers = { 'last-event-id': '17' };
  const response = await rest.call('GET', path(), { key: rest.alice.key, headers });
  expect(response.statusCode).toBe(400);
});

test("logs need read access to the endpoint; another user's and missing records are the same 404", async () => {
  const get = (url: string, key?: string) => rest.call('GET', url, key === undefined ? {} : { key });
  expect((await get(path())).statusCode).toBe(401);
  expect((await get(path(), await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
  const foreign = await get(path(), rest.bob.key);
  const missing = await get('/v2/serverless/nosuchendpoint/workers/w/logs', rest.bob.key);
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(missing.body);
  const noWorker = await get(`/v2/serverless/${endpointId}/workers/nosuchworker/logs`, rest.alice.key);
  expect(noWorker.statusCode).toBe(404);
  expect(noWorker.json().detail).toBe('Worker not found');
});

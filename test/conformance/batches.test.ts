/** Guarantees for clients of batches: docs/interface/batches.md. */
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
/** Without workers. */
let idle: EndpointId;
let served: EndpointId;
let worker: FakeWorker;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 3_000, runBodyBytes: 4_096 }, true);
  [idle, served] = [await plane.endpoint(), await plane.endpoint(1)];
  worker = await plane.worker(served);
});
afterAll(() => plane.close());

const BATCH_ID = /^batch_[a-z0-9]{14}$/;
const inputs = (count: number) => Array.from({ length: count }, (_, i) => ({ input: { n: i + 1 } }));
const lines = (count: number) =>
  inputs(count)
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join('');

async function create(endpoint: EndpointId, body: object | string = []): Promise<string> {
  const answer = await plane.call('POST', `${endpoint}/batch`, { body });
  expect(answer).toMatchObject({ status: 200, body: { id: expect.stringMatching(BATCH_ID), status: 'DRAFT' } });
  return answer.body.id;
}
const get = async (endpoint: EndpointId, id: string) => (await plane.call('GET', `${endpoint}/batch/${id}`)).body;
const post = (path: string, body?: object | string | Buffer, headers: Record<string, string> = {}) =>
  plane.call('POST', path, { ...(body === undefined ? {} : { body }), headers });
const upload = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  post(path, body, { 'content-type': 'application/x-ndjson', ...headers });

/** Runs the next `count` jobs of the worker. Returns what it got. */
async function work(count: number, output: (n: number) => string = (n) => `{"output":${n}}`): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const { body } = await worker.take();
    if (!body) continue;
    ids.push(body.id);
    await worker.done(body.id, output(body.input.n));
  }
  return ids;
}
const ended = (endpoint: EndpointId, id: string) =>
  until(
    () => get(endpoint, id),
    ({ status }) => !['DRAFT', 'FINALIZED'].includes(status),
  );

/** docs/interface/batches.md, "Operations", "Creating", "The record", "Running" and "Results" */
describe('from draft to results', () => {
  test('as clients of the original send it: an array, more requests, finalize, poll, a page of requests', async () => {
    const id = await create(served, inputs(2));
    const more = await post(`${served}/batch/${id}/requests`, { requests: [{ input: { n: 3 } }] });
    expect(more).toMatchObject({
      status: 200,
      body: { id, status: 'DRAFT', accepted: 1, requestTotal: 3, linesReceived: 3 },
    });
    expect(await get(served, id)).toMatchObject({ id, endpointId: served, status: 'DRAFT', requestTotal: 3 });
    expect((await post(`${served}/batch/${id}/finalize`)).body).toMatchObject({ status: 'FINALIZED', requestTotal: 3 });
    const ids = await work(3);
    expect(ids).toEqual([1, 2, 3].map((n) => `${id}-${n}`));
    const batch = await ended(served, id);
    expect(batch).toMatchObject({
      ...{ status: 'COMPLETED', requestTotal: 3, requestInProgress: 0, requestCompleted: 3, requestFailed: 0 },
      counts: { IN_QUEUE: 0, IN_PROGRESS: 0, COMPLETED: 3, FAILED: 0, CANCELLED: 0, TIMED_OUT: 0 },
      ...{ ordered: true, paused: false, createdAt: expect.any(Number), endedAt: expect.any(Number) },
    });
    const page = await plane.call('GET', `${served}/batch/${id}/requests?offset=1&limit=1`);
    expect(page.body).toEqual({
      requests: [
        {
          ...{ id: `${id}-2`, number: 2, status: 'COMPLETED', output: 2, workerId: worker.id },
          ...{ startedAt: expect.any(String), completedAt: expect.any(String) },
          ...{ delayTime: expect.any(Number), executionTime: expect.any(Number) },
        },
      ],
      ...{ total: 3, offset: 1, limit: 1, hasMore: true },
    });
    expect(await plane.status(served, `${id}-2`)).toMatchObject({
      id: `${id}-2`,
      batchId: id,
      status: 'COMPLETED',
      output: 2,
    });
  });

  test('purge-queue leaves a batch’s queued jobs alone: they run, and the batch ends complete', async () => {
    const id = await create(served, inputs(3));
    await post(`${served}/batch/${id}/finalize`);
    const queued = async () => Number((await plane.sql('select count(*) from jobs where batch_id = $1', id))[0].count);
    await until(queued, (count) => count === 3);
    await post(`${served}/run`, { input: { n: 0 } });
    expect((await post(`${served}/purge-queue`)).body).toEqual({ removed: 1, status: 'completed' });
    expect(await work(3)).toEqual([1, 2, 3].map((n) => `${id}-${n}`));
    expect(await ended(served, id)).toMatchObject({ status: 'COMPLETED', counts: { COMPLETED: 3, CANCELLED: 0 } });
  });

  test('the results are JSON lines, and any part of them can be had by its bytes', async () => {
    const id = await create(served, inputs(5));
    await post(`${served}/batch/${id}/finalize`);
    await work(5, (n) => (n === 4 ? '{"error":"no\\nluck ü"}' : `{"output":{"ü":\n[${n}]}}`));
    await ended(served, id);
    const whole = await readBytes(`${served}/batch/${id}/results`);
    expect(whole.headers['accept-ranges']).toBe('bytes');
    const all = readLines(whole.body);
    expect(all.map(({ number, status }) => [number, status])).toEqual(
      [1, 2, 3, 4, 5].map((n) => [n, n === 4 ? 'FAILED' : 'COMPLETED']),
    );
    expect(all[3].error).toContain('no\nluck ü');
    const bytes = whole.body;
    for (const [range, start, end] of [
      ['0-9', 0, 10],
      ['100-', 100, bytes.length],
      ['-50', bytes.length - 50, bytes.length],
      ['150-450', 150, 451],
      ['3-999999', 3, bytes.length],
    ] as const) {
      const part = await readBytes(`${served}/batch/${id}/results`, { range: `bytes=${range}` });
      expect(part.status).toBe(206);
      expect(part.headers['content-range']).toBe(`bytes ${start}-${end - 1}/${bytes.length}`);
      expect(part.body.equals(bytes.subarray(start, end))).toBe(true);
    }
    const beyond = await readBytes(`${served}/batch/${id}/results`, { range: `bytes=${bytes.length}-` });
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, `bytes */${bytes.length}`]);
    const changed = await readBytes(`${served}/batch/${id}/results`, { range: 'bytes=5-', 'if-range': '"other"' });
    expect([changed.status, changed.body.length]).toEqual([200, bytes.length]);
    const etag = String(whole.headers.etag);
    expect((await readBytes(`${served}/batch/${id}/results`, { range: 'bytes=5-', 'if-range': etag })).status).toBe(
      206,
    );
  });

  test('while a batch runs, its results are those that have ended, and a page shows every request', async () => {
    const id = await create(served, inputs(3));
    await post(`${served}/batch/${id}/finalize`);
    await work(1);
    const answer = await readBytes(`${served}/batch/${id}/results`, { range: 'bytes=5-' });
    expect([answer.status, readLines(answer.body).length]).toEqual([200, 1]);
    const page = await plane.call('GET', `${served}/batch/${id}/requests`);
    expect(page.body.requests.map(({ status }: { status: string }) => status)).toEqual([
      'COMPLETED',
      'IN_QUEUE',
      'IN_QUEUE',
    ]);
    await work(2);
    await ended(served, id);
  });

  test('a webhook gets the batch at its end', async () => {
    const { createServer } = await import('node:http');
    const { promise: got, resolve } = Promise.withResolvers<string>();
    const server = createServer((req, res) => {
      let text = '';
      req.on('data', (chunk) => (text += chunk));
      req.on('end', () => {
        res.end();
        resolve(text);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as { port: number };
    try {
      const webhook = `http://127.0.0.1:${port}/hook`;
      const id = await create(served, { name: 'night', webhook, requests: inputs(1) });
      await post(`${served}/batch/${id}/finalize`);
      await work(1);
      expect(JSON.parse(await got)).toMatchObject({ id, name: 'night', status: 'COMPLETED', requestCompleted: 1 });
    } finally {
      server.close();
    }
  });

  test('interactive jobs go first', async () => {
    const id = await create(served, inputs(2));
    await post(`${served}/batch/${id}/finalize`);
    await until(
      () => plane.sql('select 1 from jobs where batch_id = $1', id),
      (rows) => rows.length === 2,
    );
    const job = await plane.run(served, { n: 0 });
    expect(await work(3)).toEqual([job, `${id}-1`, `${id}-2`]);
    await ended(served, id);
  });
});

/** docs/interface/batches.md, "Uploads" */
describe('uploads', () => {
  test('JSON lines, gzip, in chunks of any size', async () => {
    const id = await create(idle);
    const path = `${idle}/batch/${id}/requests`;
    expect((await upload(path, lines(700))).body).toMatchObject({ accepted: 700, requestTotal: 700 });
    expect((await upload(path, gzipSync(lines(900)), { 'content-encoding': 'gzip' })).body).toMatchObject({
      requestTotal: 1_600,
    });
    const array = JSON.stringify(inputs(40)); // larger than a body of /run may be
    expect((await post(path, array)).body).toMatchObject({ accepted: 40, requestTotal: 1_640 });
    expect((await get(idle, id)).requestTotal).toBe(1_640);
  });

  test('a line that is no request is told by number and reason; the rest is taken', async () => {
    const id = await create(idle);
    const path = `${idle}/batch/${id}/requests`;
    await upload(path, lines(1));
    const bad = [
      '{"input":',
      '{"x":1}',
      '{"input":1}',
      '',
      `{"input":"${'x'.repeat(5_000)}"}`,
      '{"input":2,"webhook":"no"}',
    ];
    const answer = await upload(path, bad.join('\n'));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ accepted: 1, rejected: 4, requestTotal: 2, linesReceived: 7 });
    expect(answer.body.rejections).toEqual([
      { line: 2, reason: expect.stringContaining('is not valid JSON') },
      { line: 3, reason: '/input: is required.' },
      { line: 6, reason: 'is larger than the limit of 4096 bytes (PODYARD_RUN_BODY_BYTES)' },
      { line: 7, reason: '/webhook: must be an http or https URL.' },
    ]);
    expect(await get(idle, id)).toMatchObject({
      requestRejected: 4,
      rejections: answer.body.rejections,
      requestTotal: 2,
    });
  });

  test('lines whose refusal quotes a NUL, or half of a character, are rejected like others', async () => {
    const id = await create(idle);
    const wrong = [
      'x\0y',
      '{"a":"👍"} 👍👍👍👍👍',
      '👍👍👍👍👍👍👍👍',
      ' 👍👍👍👍👍👍👍👍',
      '{"input":1,"policy":{"\\ud800\\u0000":1}}',
    ];
    const answer = await upload(`${idle}/batch/${id}/requests`, `${wrong.join('\n')}\n{"input":1}\n`);
    expect([answer.status, answer.body.linesReceived]).toEqual([200, 6]);
    const { rejections } = await get(idle, id);
    expect(rejections).toEqual(answer.body.rejections);
    expect(rejections[0].reason).toContain('�');
    const utf16 = await upload(`${idle}/batch/${id}/requests`, Buffer.from('{"input":1}\n', 'utf16le'));
    expect(utf16).toMatchObject({ status: 200, body: { accepted: 0, rejected: 1 } });
  });

  test('an upload that is repeated from where it began adds nothing twice', async () => {
    const id = await create(idle);
    const path = `${idle}/batch/${id}/requests`;
    await upload(`${path}?offset=0`, lines(600));
    const again = await upload(`${path}?offset=0`, lines(650));
    expect(again.body).toMatchObject({ skipped: 600, accepted: 50, requestTotal: 650, linesReceived: 650 });
    const gap = await upload(`${path}?offset=700`, lines(1));
    expect([gap.status, gap.body.detail]).toEqual([
      409,
      'offset: the batch has received 650 lines, so an upload cannot begin at 700',
    ]);
  });

  test('an upload that is cut keeps what was committed, and continues by offset', async () => {
    const id = await create(idle);
    const body = lines(5_000);
    const cut = sendHalf(`/v2/${idle}/batch/${id}/requests?offset=0`, body.slice(0, body.length / 2));
    const { linesReceived } = await until(
      () => get(idle, id),
      (batch) => batch.linesReceived >= 1_000,
    );
    cut.destroy();
    expect(linesReceived).toBeLessThan(5_000);
    const rest = await until(
      () => upload(`${idle}/batch/${id}/requests?offset=0`, body),
      ({ status }) => status === 200, // 409 while the server still works on the first
    );
    expect(rest.body).toMatchObject({ requestTotal: 5_000, linesReceived: 5_000 });
    expect(
      await plane.sql('select count(distinct number)::int as count from batch_requests where batch_id = $1', id),
    ).toEqual([{ count: 5_000 }]);
  });

  test('broken gzip, other encodings and an array that is not closed are refused; what came before stays', async () => {
    const id = await create(idle);
    const path = `${idle}/batch/${id}/requests`;
    const cutGzip = gzipSync(lines(10)).subarray(0, 30);
    expect((await upload(path, cutGzip, { 'content-encoding': 'gzip' })).status).toBe(400);
    expect((await upload(path, lines(1), { 'content-encoding': 'br' })).status).toBe(415);
    const array = await post(path, JSON.stringify(inputs(1_200)).slice(0, -5));
    expect([array.status, array.body.detail]).toEqual([400, expect.stringContaining('it ends in element 1200')]);
    expect((await upload(`${path}?offset=x`, lines(1))).status).toBe(400);
  });

  test('a server that is stopped between portions and started again has lost nothing and runs nothing twice', async () => {
    const own = await QueuePlaneFixture.start({ takeHoldMs: 3_000 });
    try {
      const endpoint = await own.endpoint(1);
      const { body } = await own.call('POST', `${endpoint}/batch`, { body: inputs(30) });
      await own.call('POST', `${endpoint}/batch/${body.id}/finalize`);
      const seen: string[] = [];
      const workUntil = async (by: FakeWorker, count: number) => {
        while (seen.length < count) {
          const { body: job } = await by.take();
          if (!job) continue;
          seen.push(job.id);
          await by.done(job.id, '{"output":1}');
        }
      };
      const before = await own.worker(endpoint);
      await workUntil(before, 10);
      await own.restart();
      await workUntil(await own.worker(endpoint, [before.id]), 30);
      expect(seen).toEqual(Array.from({ length: 30 }, (_, i) => `${body.id}-${i + 1}`));
      const done = async () => (await own.call('GET', `${endpoint}/batch/${body.id}`)).body;
      expect(await until(done, ({ status }) => status === 'COMPLETED')).toMatchObject({ requestCompleted: 30 });
    } finally {
      await own.close();
    }
  });
});

/** docs/interface/batches.md, "Operations", "Creating", "Running" and "Cancellation" */
describe('rules', () => {
  test('a draft can be changed, a request deleted; a finalized batch takes neither requests nor another order', async () => {
    const id = await create(idle, inputs(3));
    const path = `${idle}/batch/${id}`;
    const changed = await plane.call('PUT', path, {
      body: { name: 'x', ordered: false, webhook: 'https://example.org/' },
    });
    expect(changed.body).toMatchObject({ name: 'x', ordered: false, webhook: 'https://example.org/' });
    expect((await plane.call('PUT', path, { body: { name: null, webhook: null } })).body).not.toHaveProperty('name');
    expect((await plane.call('DELETE', `${path}/requests/${id}-2`)).body).toMatchObject({ requestTotal: 2 });
    expect((await plane.call('DELETE', `${path}/requests/${id}-2`)).status).toBe(404);
    expect((await plane.call('GET', `${path}/results`)).status).toBe(400);
    await post(`${path}/finalize`);
    expect((await post(`${path}/requests`, inputs(1))).body.detail).toBe(
      'the batch is FINALIZED; only a DRAFT takes requests',
    );
    expect((await plane.call('DELETE', `${path}/requests/${id}-1`)).status).toBe(400);
    expect((await plane.call('PUT', path, { body: { ordered: true } })).status).toBe(400);
    expect((await plane.call('PUT', path, { body: { paused: true } })).body).toMatchObject({ paused: true });
    expect((await post(`${path}/cancel`)).status).toBe(200);
    expect(await ended(idle, id)).toMatchObject({
      status: 'CANCELLED',
      requestFailed: 2,
      reason: 'cancelled by its user',
    });
    expect((await post(`${path}/finalize`)).status).toBe(400);
  });

  test.each<[string, string, unknown]>([
    ['name', 'POST', { name: '' }],
    ['name', 'POST', { name: 'x'.repeat(201) }],
    ['webhook', 'POST', { webhook: 'ftp://x/' }],
    ['ordered', 'POST', { ordered: 'yes' }],
    ['requests', 'POST', { requests: {} }],
    ['JSON', 'POST', '{'],
    ['object', 'POST', '3'],
  ])('a new batch with a bad %s is a 400 (%s %j)', async (word, method, body) => {
    const answer = await plane.call(method, `${idle}/batch`, { body: body as object });
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(word)]);
  });

  test('both revisions of the interface have the same batches', async () => {
    const id = await create(idle, inputs(1));
    const own = await get(idle, id);
    for (const revision of ['2026-07', '2026-08']) {
      const headers = { authorization: 'Bearer pyk_test-admin' };
      const answer = await fetch(`${plane.url}/${revision}/v2/${idle}/batch/${id}`, { headers });
      expect(await answer.json()).toEqual(own);
    }
  });

  test('lists are newest first, in pages', async () => {
    const endpoint = await plane.endpoint();
    expect((await plane.call('GET', `${endpoint}/batch`)).body).toEqual({
      ...{ batches: [], total: 0, offset: 0, limit: 50, hasMore: false },
    });
    const ids = [await create(endpoint), await create(endpoint), await create(endpoint)];
    const page = await plane.call('GET', `${endpoint}/batch?offset=1&limit=1`);
    expect(page.body).toMatchObject({ batches: [{ id: ids[1] }], total: 3, hasMore: true });
    for (const query of ['limit=0', 'limit=101', 'offset=-1', 'offset=x']) {
      expect((await plane.call('GET', `${endpoint}/batch?${query}`)).status).toBe(400);
    }
  });

  test('another user, a missing batch and another endpoint look the same; scopes count', async () => {
    const id = await create(idle, inputs(1));
    const stranger = await plane.keyFor(await plane.stranger(), 'all');
    const readOnly = await plane.keyFor(plane.userId, 'read-only');
    const paths = [`batch/${id}`, `batch/${id}/requests`, `batch/${id}/results`, 'batch'];
    for (const path of paths) {
      const answer = await plane.call('GET', `${idle}/${path}`, { authorization: `Bearer ${stranger}` });
      expect([answer.status, answer.body.detail]).toEqual([404, 'Endpoint not found']);
    }
    const missing = await plane.call('GET', `${idle}/batch/batch_aaaaaaaaaaaaaa`);
    const elsewhere = await plane.call('GET', `${served}/batch/${id}`);
    expect([missing.status, missing.text]).toEqual([elsewhere.status, elsewhere.text]);
    expect(missing.status).toBe(404);
    expect((await plane.call('GET', `${idle}/batch/${id}`, { authorization: `Bearer ${readOnly}` })).status).toBe(200);
    for (const [method, path] of [
      ['POST', 'batch'],
      ['PUT', `batch/${id}`],
      ['POST', `batch/${id}/requests`],
      ['POST', `batch/${id}/finalize`],
      ['POST', `batch/${id}/cancel`],
      ['DELETE', `batch/${id}/requests/${id}-1`],
    ] as const) {
      const answer = await plane.call(method, `${idle}/${path}`, { authorization: `Bearer ${readOnly}`, body: '[]' });
      expect(answer.status).toBe(403);
    }
    expect((await plane.call('DELETE', `${idle}/batch/${id}`)).headers.get('allow')).toBe('GET, PUT');
    expect((await plane.call('GET', `${idle}/batch/${id}/nothing`)).status).toBe(404);
  });

  test('an endpoint that is deleted takes its batches with it', async () => {
    const endpoint = await plane.endpoint();
    const id = await create(endpoint, inputs(2));
    expect((await plane.call('DELETE', `serverless/${endpoint}`)).status).toBe(204);
    expect(await plane.sql('select * from batches where id = $1', id)).toEqual([]);
    expect(await plane.sql('select batch_id from batch_removals')).toEqual([{ batch_id: id }]);
  });

  test('a batch of ten thousand leaves an interactive queue open, and its cancellation is quick', async () => {
    const endpoint = await plane.endpoint(0, { workers: { min: 0, max: 1 }, gpu: { pools: ['ADA_80_PRO'], count: 1 } });
    const id = await create(endpoint);
    await upload(`${endpoint}/batch/${id}/requests`, lines(10_000));
    await post(`${endpoint}/batch/${id}/finalize`);
    await until(
      () => plane.sql('select fed::int from batches where id = $1', id),
      ([row]) => row.fed === 250,
    );
    for (let i = 0; i < 60; i++) expect((await post(`${endpoint}/run`, { input: i })).status).toBe(200);
    await post(`${endpoint}/batch/${id}/cancel`);
    expect(await ended(endpoint, id)).toMatchObject({ status: 'CANCELLED', counts: { CANCELLED: 10_000 } });
  });
});

interface Bytes {
  status: number;
  headers: Record<string, unknown>;
  body: Buffer;
}

/** The bytes as they are: fetch would decode them. */
function readBytes(path: string, headers: Record<string, string> = {}): Promise<Bytes> {
  return new Promise((resolve, reject) => {
    const authorization = 'Bearer pyk_test-admin';
    request(`${plane.url}/v2/${path}`, { headers: { authorization, ...headers } }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => resolve({ status: res.statusCode!, headers: res.headers, body: Buffer.concat(chunks) }));
    })
      .on('error', reject)
      .end();
  });
}

function readLines(body: Buffer) {
  return body
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Sends the beginning of a longer body, and leaves the request open. */
function sendHalf(path: string, body: string) {
  const headers = { authorization: 'Bearer pyk_test-admin', 'content-type': 'application/x-ndjson' };
  const req = request(`${plane.url}${path}`, { method: 'POST', headers });
  req.on('error', () => {}); // it is cut on purpose
  req.write(body);
  return req;
}

/** docs/interface/queue.md, "Webhooks". */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
}

/** A webhook receiver that records requests and answers as configured. */
class Receiver {
  readonly received: Received[] = [];
  answer: (n: number) => { status: number; location?: string } = () => ({ status: 200 });
  readonly #server: Server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const { status, location } = this.answer(this.received.length + 1);
    this.received.push({
      method: req.method!,
      path: req.url!,
      headers: req.headers,
      text: Buffer.concat(chunks).toString(),
    });
    const upgrade = status === 101 && { connection: 'upgrade', upgrade: 'other' };
    res.writeHead(status, { ...(location && { location }), ...upgrade }).end();
  });

  async start(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits for the n-th webhook. */
  async get(n: number): Promise<Received> {
    await until(
      () => this.received.length,
      (length) => length >= n,
    );
    return this.received[n - 1]!;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

let plane: QueuePlaneFixture;
let receiver: Receiver;
let id: EndpointId;

beforeAll(async () => {
  receiver = new Receiver();
  await receiver.start();
  plane = await QueuePlaneFixture.start({ takeHoldMs: 1_000 }, true);
  id = await plane.endpoint();
});
afterAll(async () => {
  await plane.close();
  await receiver.stop();
});
beforeEach(async () => {
  await plane.sql('delete from webhook_deliveries'); // those of an earlier test would be tried again in this one
  receiver.received.length = 0;
  receiver.answer = () => ({ status: 200 });
});

const submit = (input: unknown = { a: 1 }, url = `${receiver.url}/hook?x=1`) => plane.run(id, input, { webhook: url });
const cancel = (jobId: string) => plane.call('POST', `${id}/cancel/${jobId}`);
const deliveries = (jobId: string) =>
  plane.sql('select attempt, next_at from webhook_deliveries where job_id = $1', jobId);
const settled = (jobId: string) =>
  until(
    () => deliveries(jobId),
    (rows) => rows.length === 0,
  );

/** Skips the pause before the next attempt. */
async function skipPause(jobId: string): Promise<void> {
  await plane.sql('update webhook_deliveries set next_at = now() where job_id = $1', jobId);
  await plane.hint('webhook', '');
}

test('a finished job is posted as in status, with its input and webhook, byte for byte', async () => {
  const served = await plane.endpoint(1);
  const worker = await plane.worker(served);
  const webhook = `${receiver.url}/hook?x=1`;
  const { body } = await plane.call('POST', `${served}/run`, { body: `{"input":{"n":1.00},"webhook":"${webhook}"}` });
  expect(await worker.work('{"output":{"big":12345678901234567890}}')).toBe(body.id);
  const { method, path, headers, text } = await receiver.get(1);
  expect({ method, path }).toEqual({ method: 'POST', path: '/hook?x=1' });
  expect(headers['content-type']).toBe('application/json');
  const status = (await plane.call('GET', `${served}/status/${body.id}`)).text;
  expect(text).toBe(`${status.slice(0, -1)},"input":{"n":1.00},"webhook":"${webhook}"}`);
  await settled(body.id);
  expect(receiver.received).toHaveLength(1);
});

test('every terminal state is delivered: FAILED, CANCELLED, TIMED_OUT', async () => {
  const served = await plane.endpoint(1);
  const worker = await plane.worker(served);
  await plane.run(served, 1, { webhook: receiver.url });
  await worker.work('{"error":"bad"}');
  expect(JSON.parse((await receiver.get(1)).text)).toMatchObject({ status: 'FAILED', error: 'bad' });
  await cancel(await submit());
  expect(JSON.parse((await receiver.get(2)).text)).toMatchObject({ status: 'CANCELLED' });
  const late = await submit();
  await plane.sql('update jobs set expires_at = now(), has_own_ttl = true where id = $1', late);
  expect(JSON.parse((await receiver.get(3)).text)).toMatchObject({ id: late, status: 'TIMED_OUT' });
});

test('jobs of a purged queue are delivered too', async () => {
  const other = await plane.endpoint();
  for (let n = 0; n < 30; n++) await plane.run(other, n, { webhook: receiver.url });
  await plane.call('POST', `${other}/purge-queue`);
  await receiver.get(30);
  expect(new Set(receiver.received.map(({ text }) => JSON.parse(text).input)).size).toBe(30);
});

describe('a webhook that fails', () => {
  test('is tried three times, with pauses of 10 seconds, then given up; the job stays unchanged', async () => {
    receiver.answer = () => ({ status: 500 });
    const jobId = await submit();
    await cancel(jobId);
    for (const attempt of [1, 2]) {
      const before = Date.now();
      const [row] = await until(
        () => deliveries(jobId),
        ([delivery]) => delivery?.attempt === attempt,
      );
      const triedAt = row.next_at.getTime() - 10_000;
      expect(triedAt).toBeGreaterThanOrEqual(before);
      expect(triedAt).toBeLessThanOrEqual(Date.now());
      expect(receiver.received).toHaveLength(attempt);
      await skipPause(jobId);
    }
    await settled(jobId);
    expect(receiver.received).toHaveLength(3);
    expect((await plane.status(id, jobId)).status).toBe('CANCELLED');
  });

  test('and is accepted on the second try is not sent again', async () => {
    receiver.answer = (n) => ({ status: n === 1 ? 503 : 204 });
    const jobId = await submit();
    await cancel(jobId);
    await receiver.get(1);
    await until(
      () => deliveries(jobId),
      ([delivery]) => delivery?.attempt === 1,
    );
    await skipPause(jobId);
    await settled(jobId);
    expect(receiver.received).toHaveLength(2);
  });

  test('with a redirect does not follow it', async () => {
    receiver.answer = () => ({ status: 302, location: `${receiver.url}/elsewhere` });
    const jobId = await submit();
    await cancel(jobId);
    await until(
      () => deliveries(jobId),
      ([delivery]) => delivery?.attempt === 1,
    );
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook?x=1']);
  });

  test('because its receiver changes the protocol is retried too', async () => {
    receiver.answer = () => ({ status: 101 });
    const jobId = await submit();
    await cancel(jobId);
    await until(
      () => deliveries(jobId),
      ([delivery]) => delivery?.attempt === 1,
    );
  });

  test('because nothing listens is retried too', async () => {
    const closed = new Receiver();
    await closed.start();
    const { url } = closed;
    await closed.stop();
    const jobId = await submit(1, url);
    await cancel(jobId);
    await until(
      () => deliveries(jobId),
      ([delivery]) => delivery?.attempt === 1,
    );
  });
});

test('webhooks not delivered before the server stopped are delivered by the next one', async () => {
  receiver.answer = (n) => ({ status: n === 1 ? 500 : 200 });
  const jobId = await submit('survives');
  await cancel(jobId);
  await until(
    () => deliveries(jobId),
    ([delivery]) => delivery?.attempt === 1,
  );
  await plane.sql('update webhook_deliveries set next_at = now() where job_id = $1', jobId);
  await plane.restart();
  expect(JSON.parse((await receiver.get(2)).text)).toMatchObject({ id: jobId, input: 'survives' });
  await settled(jobId);
});

describe('without PODYARD_ALLOW_PRIVATE_WEBHOOKS', () => {
  const portOf = (url: string) => new URL(url).port;
  const SETTING = '--webhook-networks (PODYARD_WEBHOOK_NETWORKS)';
  let strict: QueuePlaneFixture;
  let own: EndpointId;
  beforeAll(async () => {
    strict = await QueuePlaneFixture.start();
    own = await strict.endpoint();
  });
  afterAll(() => strict.close());

  const post = (path: string, body: unknown, method = 'POST') =>
    strict.call(method, `${own}/${path}`, { body: body as object });

  test('a job, copy, batch or request of one whose webhook names a private or own address is refused', async () => {
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433', '192.168.1.1']) {
      const webhook = `http://${host}:${portOf(receiver.url)}/`;
      for (const path of ['run', 'runsync']) {
        const { status, body } = await post(path, { input: 1, webhook });
        expect({ status, detail: body.detail }).toEqual({ status: 400, detail: expect.stringContaining(SETTING) });
        expect(body.detail).toMatch(/^The job is not valid: \/webhook: /);
      }
    }
    const webhook = 'http://127.0.0.1/';
    const jobId = await strict.run(own);
    const batch = (await post('batch', {})).body;
    const line = JSON.stringify({ input: 1, webhook });
    for (const [path, body, method] of [
      [`resubmit/${jobId}`, { webhook }, 'POST'],
      ['batch', { webhook }, 'POST'],
      [`batch/${batch.id}`, { webhook }, 'PUT'],
    ] as const) {
      const answer = await post(path, body, method);
      expect([path, answer.status, answer.body.detail]).toEqual([path, 400, expect.stringContaining(SETTING)]);
    }
    const upload = await post(`batch/${batch.id}/requests`, { requests: [JSON.parse(line)] });
    expect(upload.body).toMatchObject({ rejected: 1, rejections: [{ reason: expect.stringContaining(SETTING) }] });
    expect(receiver.received).toEqual([]);
  });

  test('one whose name stands for such an address is not sent, and job, endpoint and figures say why', async () => {
    const webhook = `http://${hostname()}:${portOf(receiver.url)}/`;
    const jobId = await strict.run(own, 1, { webhook });
    await post(`cancel/${jobId}`, {});
    const reason = `${hostname()} stands for an address of the server's own machine, which webhooks do not reach`;
    const job = await until(
      async () => (await strict.call('GET', `serverless/${own}/requests/${jobId}`)).body,
      ({ webhook: { tries } }) => tries.length > 0,
    );
    expect(job.webhook.tries).toEqual([
      { at: expect.any(String), status: null, error: expect.stringContaining(reason) },
    ]);
    expect(job.webhook.tries[0].error).toContain(SETTING);
    const warnings = [expect.stringContaining(`a webhook was not sent: ${reason}`)];
    expect((await strict.call('GET', `serverless/${own}/state`)).body).toMatchObject({ warnings });
    expect((await strict.call('GET', 'serverless/figures')).body.figures).toMatchObject([{ id: own, warnings }]);
    await strict.sql("update webhook_refusals set refused_at = now() - interval '61 minutes'");
    expect((await strict.call('GET', `serverless/${own}/state`)).body.warnings).toEqual([]);
    expect(receiver.received).toEqual([]);
  });
});

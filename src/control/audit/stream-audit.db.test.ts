import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { silentLogger } from '../../core/logger.ts';
import { ChainSealer } from '../../domain/audit/chain.ts';
import { recordEvent } from '../../domain/audit/record-event.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { AuditStream } from './stream-audit.ts';

const SECRET = 'a secret of sixteen';
let database: TestDatabase;
let receiver: Server;
let url: string;
let status = 200;
const received: { body: string; signature: string }[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  receiver = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    received.push({ body, signature: String(req.headers['podyard-signature']) });
    res.writeHead(status).end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/audit`;
});
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await database.drop();
});

const streamTo = (allowPrivate: boolean) =>
  new AuditStream({
    ...{ pool: database.pool, logger: silentLogger, url, secret: SECRET },
    webhooks: new WebhookPolicy({ allowPrivate, allowed: [] }),
  });
async function write(count: number, name: string): Promise<void> {
  for (let i = 0; i < count; i++)
    await recordEvent(database.pool, null, { operation: 'test.write', recordId: `${name}${i}` });
  await new ChainSealer(database.pool).sealNext();
}
const idsOf = () =>
  received.flatMap(({ body }) => JSON.parse(body).entries.map((entry: { recordId: string }) => entry.recordId));
const failures = async () => (await database.pool.query('select failures, last_error from audit_stream')).rows[0];

test('every entry is sent in its order, signed, with the head of the chain; what fails waits and is sent again', async () => {
  await write(130, 'a');
  const stream = streamTo(true);
  status = 503;
  stream.start();
  await expect.poll(failures).toMatchObject({ failures: 1, last_error: 'it was answered with status 503' });
  await stream.stop();
  status = 200;
  received.length = 0;
  const next = streamTo(true); // as another leader would
  next.start();
  await expect.poll(() => idsOf().length).toBe(130);
  expect(idsOf()).toEqual(Array.from({ length: 130 }, (_, i) => `a${i}`));
  for (const { body, signature } of received) {
    expect(signature).toBe(`sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`);
    expect(JSON.parse(body)).toMatchObject({ type: 'audit.entries', head: expect.stringMatching(/^[0-9a-f]{64}$/) });
  }
  await expect.poll(failures).toEqual({ failures: 0, last_error: null });
  await next.stop();
});

test('it is sent to no address that webhooks may not reach', async () => {
  received.length = 0;
  await write(1, 'b');
  const stream = streamTo(false);
  stream.start();
  await expect.poll(failures).toMatchObject({ failures: 1, last_error: expect.stringContaining('127.0.0.1') });
  await stream.stop();
  expect(received).toEqual([]);
});

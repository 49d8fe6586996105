import { createHmac } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { silentLogger } from '../../core/logger.ts';
import { ChainSealer } from '../../domain/audit/chain.ts';
import { recordEvent } from '../../domain/audit/record-event.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { type AuditReceiver, auditOtlp, auditWebhook } from '../../outbound/audit-receivers.ts';
import { auditSyslog, type SyslogServer } from '../../outbound/audit-syslog.ts';
import { auditStream } from './stream-audit.ts';

const SECRET = 'a secret of sixteen';
let database: TestDatabase;
let receiver: Server;
let url: string;
let status = 200;
const received: { body: string; signature: string; token: unknown }[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  receiver = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    received.push({ body, signature: String(req.headers['podyard-signature']), token: req.headers['x-token'] });
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
  streamOf(auditWebhook({ url, secret: SECRET, webhooks: new WebhookPolicy({ allowPrivate, allowed: [] }) }));
const streamOf = (receiver: AuditReceiver) => auditStream({ pool: database.pool, logger: silentLogger, receiver });
async function write(count: number, name: string): Promise<void> {
  for (let i = 0; i < count; i++)
    await recordEvent(database.pool, null, { operation: 'test.write', recordId: `${name}${i}` });
  await new ChainSealer(database.pool).sealNext();
}
const idsOf = () =>
  received.flatMap(({ body }) => JSON.parse(body).entries.map((entry: { recordId: string }) => entry.recordId));
const failuresOf = async (kind: string) =>
  (await database.pool.query('select failures, last_error from audit_stream where kind = $1', [kind])).rows[0];
const failures = () => failuresOf('WEBHOOK');

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

const highest = async () =>
  Number((await database.pool.query('select max(seq) as seq from audit_entries')).rows[0].seq);
const places = async () =>
  (await database.pool.query('select kind, delivered_seq as seq from audit_stream order by kind')).rows;

test('OTLP gets every entry as a log record, with the collector’s headers; a failure waits', async () => {
  received.length = 0;
  await write(3, 'o');
  status = 503;
  const stream = streamOf(auditOtlp(url, { 'x-token': 't' }));
  stream.start();
  await expect.poll(() => failuresOf('OTLP')).toMatchObject({ failures: 1 });
  await stream.stop();
  status = 200;
  received.length = 0;
  const next = streamOf(auditOtlp(url, { 'x-token': 't' }));
  next.start();
  await expect.poll(places).toContainEqual({ kind: 'OTLP', seq: await highest() });
  await next.stop();
  expect(received.every(({ token }) => token === 't')).toBe(true);
  const records = received.flatMap(({ body }) => JSON.parse(body).resourceLogs[0].scopeLogs[0].logRecords);
  const last = records.at(-1);
  expect(last).toMatchObject({
    eventName: 'test.write',
    severityText: 'INFO',
    timeUnixNano: expect.stringMatching(/^\d{16}000$/),
  });
  expect(last.attributes).toContainEqual({ key: 'podyard.audit.recordId', value: { stringValue: 'o2' } });
  expect(JSON.parse(last.body.stringValue)).toMatchObject({ recordId: 'o2' });
  expect(new Set(records.map((record) => record.timeUnixNano + record.body.stringValue)).size).toBe(records.length);
});

/** Reads the messages of a connection by their octet counts. */
function unframe(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(' ', at);
    const end = space + 1 + Number(bytes.toString('utf8', at, space));
    messages.push(bytes.toString('utf8', space + 1, end));
    at = end;
  }
  return messages;
}

const TLS_FILES = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url), 'utf8');

test('syslog over TCP gets every entry, in frames of RFC 5424; what the server resets is sent again', async () => {
  const messages: string[] = [];
  let isResetting = true;
  const server = createNetServer({ allowHalfOpen: true }, async (socket) => {
    socket.on('error', () => {});
    if (isResetting) return void socket.resetAndDestroy();
    const bytes = Buffer.concat(await socket.toArray());
    messages.push(...unframe(bytes));
    socket.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const syslog: SyslogServer = { transport: 'TCP', host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  await write(2, 's"]\\');
  const stream = streamOf(auditSyslog(syslog));
  stream.start();
  await expect.poll(() => failuresOf('SYSLOG')).toMatchObject({ failures: 1 });
  await stream.stop();
  isResetting = false;
  const next = streamOf(auditSyslog(syslog));
  next.start();
  await expect.poll(places).toContainEqual({ kind: 'SYSLOG', seq: await highest() });
  await next.stop();
  server.close();
  expect(messages).toHaveLength(await highest());
  const head =
    /^<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ podyard - test\.write \[podyard@32473 seq="\d+" outcome="done" /;
  const last = messages.at(-1)!;
  expect(last).toMatch(head);
  expect(last).toContain(String.raw`recordId="s\"\]\\1"`);
  expect(JSON.parse(last.slice(last.indexOf('\ufeff') + 1))).toMatchObject({
    recordId: 's"]\\1',
    operation: 'test.write',
  });
});

test('syslog over TLS is sent to no server whose certificate is not trusted', async () => {
  let bytes = 0;
  const server = createTlsServer({ key: TLS_FILES('first.key'), cert: TLS_FILES('first.crt') }, (socket) => {
    socket.on('error', () => {}).on('data', (data) => (bytes += data.length));
  });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const { deliver } = auditSyslog({ transport: 'TLS', host: 'localhost', port });
  const { rows: entries } = await database.pool.query(`select *, at::text as at from audit_entries limit 1`);
  const sending = deliver({ entries, head: null }, new AbortController().signal);
  await expect(sending).rejects.toThrow(/^the syslog server failed: (DEPTH_ZERO_)?SELF_SIGNED_CERT|UNABLE_TO_VERIFY/);
  expect(bytes).toBe(0);
  await new Promise((resolve) => server.close(resolve));
});

test('syslog over UDP is a datagram for each entry', async () => {
  const socket = createSocket('udp4');
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  const { deliver } = auditSyslog({ transport: 'UDP', host: '127.0.0.1', port: socket.address().port });
  const { rows: entries } = await database.pool.query(`select *, at::text as at from audit_entries limit 1`);
  const arrived = once(socket, 'message');
  await deliver({ entries, head: null }, new AbortController().signal);
  expect(String((await arrived)[0])).toMatch(/^<110>1 /);
  socket.close();
});

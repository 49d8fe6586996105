import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { MailSettings } from '../../outbound/read-mail-settings.ts';

const MAIL: MailSettings = {
  ...{ host: '127.0.0.1', port: 1, security: 'NONE', login: null, from: 'p@example.com', ca: null },
  anyRecipientIn: ['ops.example.com'],
};

let rest: RestFixture;
let admin: Person;
let receiver: Server;
let url: string;
let status = 200;
const received: { body: string; signature: unknown }[] = [];
beforeAll(async () => {
  rest = await startRestApp({ allowPrivateWebhooks: true, mail: MAIL });
  admin = await rest.addPerson('admin');
  await rest.database.pool.query(`update users set email = name || '@example.com'`);
  receiver = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    received.push({ body, signature: req.headers['podyard-signature'] });
    res.writeHead(status).end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/T0/secret-part`;
});
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await rest.close();
});
beforeEach(async () => {
  await rest.database.pool.query('delete from notice_destinations');
  received.length = 0;
  status = 200;
});

const PATH = '/v2/account/notices';
const call = (method: string, path: string, body?: unknown, key = rest.alice.key, headers = {}) =>
  rest.call(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
const make = async (body: object, key?: string) => (await call('POST', PATH, body, key)).json();
const list = async (query = '', key?: string) => (await call('GET', PATH + query, undefined, key)).json().destinations;

test('a destination is added with defaults, listed, changed and removed; what is secret is shown once or never', async () => {
  const made = await call('POST', PATH, { name: 'chat', kind: 'WEBHOOK', url });
  expect(made.statusCode).toBe(201);
  const { signingSecret, ...destination } = made.json();
  expect(signingSecret).toMatch(/^pyn_/);
  expect(destination).toEqual({
    ...{ id: expect.any(String), scope: 'ACCOUNT', name: 'chat', kind: 'WEBHOOK', address: new URL(url).host },
    events: ['ENDPOINT_FAILING', 'WAITING_FOR_CAPACITY', 'QUEUE_SLOW', 'BUDGET', 'KEY_EXPIRES'],
    ...{ waitMinutes: 10, enabled: true, createdAt: expect.any(String), lastSentAt: null, lastError: null, waiting: 0 },
  });
  expect(await list()).toEqual([destination]);
  const path = `${PATH}/${destination.id}`;
  const changed = { name: 'new', events: ['BUDGET'], waitMinutes: 30, enabled: false };
  expect((await call('PATCH', path, changed)).json()).toEqual({ ...destination, ...changed });
  expect((await call('PATCH', path, {})).json()).toEqual({ ...destination, ...changed });
  const { rows } = await rest.database.pool.query(
    `select name, encode(secret, 'escape') as secret from notice_destinations`,
  );
  const audit = (await call('GET', '/v2/audit')).body;
  expect(audit).toContain('destination.create');
  for (const text of [rows[0].secret, audit, (await call('GET', PATH)).body]) {
    expect(text).not.toContain('secret-part');
    expect(text).not.toContain(signingSecret);
  }
  expect((await call('DELETE', path)).statusCode).toBe(204);
  expect(await list()).toEqual([]);
  expect((await call('DELETE', path)).statusCode).toBe(404);
});

test('a test is sent at once and signed, and its answer returned; deliveries show it', async () => {
  const { id } = await make({ name: 'chat', kind: 'WEBHOOK', url });
  expect((await call('POST', `${PATH}/${id}/test`)).json()).toEqual({ delivered: true, error: null });
  expect(JSON.parse(received[0]!.body).items[0]).toMatchObject({
    event: 'TEST',
    url: 'http://podyard.test:8080/#/notices',
  });
  expect(received[0]!.signature).toMatch(/^sha256=[0-9a-f]{64}$/);
  status = 404;
  const failed = { delivered: false, error: 'it was answered with status 404' };
  expect((await call('POST', `${PATH}/${id}/test`)).json()).toEqual(failed);
  const { deliveries } = (await call('GET', `${PATH}/${id}/deliveries`)).json();
  expect(deliveries).toMatchObject([
    { status: 'GIVEN_UP', error: failed.error, attempts: 1, sentAt: null },
    { status: 'SENT', error: null, items: [{ event: 'TEST' }], nextAttemptAt: null },
  ]);
  expect(await list()).toMatchObject([{ lastError: failed.error, waiting: 0 }]);
});

test('ten tests in an hour, then a 429', async () => {
  const { id } = await make({ name: 'chat', kind: 'SLACK', url });
  for (let i = 0; i < 10; i++) expect((await call('POST', `${PATH}/${id}/test`)).statusCode).toBe(200);
  expect((await call('POST', `${PATH}/${id}/test`)).statusCode).toBe(429);
  expect(received).toHaveLength(10);
});

test('mail goes to people of the account, and to domains that the operator allows', async () => {
  const email = (address: string, key?: string) =>
    call('POST', PATH, { name: 'm', kind: 'EMAIL', email: address }, key);
  expect((await email('Alice@example.com')).statusCode).toBe(201);
  expect((await email('anybody@ops.example.com')).statusCode).toBe(201);
  const refused = await email('bob@example.com');
  expect(refused.statusCode).toBe(400);
  expect(refused.json().detail).toContain('anyRecipientIn');
  const body = { name: 'm', kind: 'EMAIL', email: 'bob@example.com', scope: 'INSTALLATION' };
  expect((await call('POST', PATH, body, admin.key)).statusCode).toBe(201);
  const [{ id }] = await list();
  const answer = (await call('POST', `${PATH}/${id}/test`)).json();
  expect(answer).toEqual({ delivered: false, error: expect.stringMatching(/^the mail server did not take it/) });
});

test('those of the installation are for admins, and are nothing to others', async () => {
  const body = { name: 'ops', kind: 'TEAMS', url, scope: 'INSTALLATION' };
  expect((await call('POST', PATH, body)).statusCode).toBe(403);
  const made = await make(body, admin.key);
  expect(made).toMatchObject({ scope: 'INSTALLATION', signingSecret: null });
  expect(made.events).toContain('DISK');
  expect(await list('?scope=INSTALLATION', admin.key)).toHaveLength(1);
  expect(await list('', admin.key)).toEqual([]);
  expect((await call('GET', `${PATH}?scope=INSTALLATION`)).statusCode).toBe(403);
  const missing = (await call('DELETE', `${PATH}/nothing`)).json();
  for (const [method, path] of [
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ] as const) {
    const answer = await call(method, `${PATH}/${made.id}${path}`, method === 'PATCH' ? {} : undefined);
    expect(answer.statusCode).toBe(404);
    expect(answer.json().detail).toBe(missing.detail);
  }
  expect(received).toEqual([]);
  expect((await call('DELETE', `${PATH}/${made.id}`, undefined, admin.key)).statusCode).toBe(204);
});

test('a team’s are its own; another user’s are nobody’s', async () => {
  const { id: team } = (await call('POST', '/v2/teams', { name: 'crew' }, admin.key)).json();
  await call('POST', `/v2/teams/${team}/members`, { userId: rest.alice.userId, role: 'OWNER' }, admin.key);
  await call('POST', `/v2/teams/${team}/members`, { userId: rest.bob.userId, role: 'DEVELOPER' }, admin.key);
  const as = (method: string, key: string, path = '', body?: object) =>
    call(method, PATH + path, body, key, { 'podyard-team': team });
  const body = { name: 'm', kind: 'EMAIL', email: 'bob@example.com' };
  const made = await as('POST', rest.alice.key, '', body);
  expect(made.statusCode).toBe(201);
  expect((await as('GET', rest.bob.key)).json().destinations).toHaveLength(1);
  expect((await as('POST', rest.bob.key, '', body)).statusCode).toBe(403);
  expect((await as('POST', rest.bob.key, `/${made.json().id}/test`)).statusCode).toBe(403);
  expect(await list()).toEqual([]);
  expect((await call('PATCH', `${PATH}/${made.json().id}`, {}, rest.bob.key)).statusCode).toBe(404);

  const test = async () => (await as('POST', rest.alice.key, `/${made.json().id}/test`)).json().error;
  expect(await test()).toMatch(/^the mail server did not take it/);
  await call('DELETE', `/v2/teams/${team}/members/${rest.bob.userId}`, undefined, admin.key);
  expect(await test()).toMatch(/^nobody of this account has this address any more/);
});

test.each([
  [{ kind: 'EMAIL' }, 'email: is missing'],
  [{ kind: 'EMAIL', url: 'https://example.com' }, 'url: an EMAIL destination has an email'],
  [{ kind: 'SLACK' }, 'url: is missing'],
  [{ kind: 'SLACK', email: 'alice@example.com' }, 'email: a SLACK destination has a url'],
  [{ kind: 'SLACK', url: 'ftp://example.com' }, 'url: must be an http or https URL'],
  [{ kind: 'SLACK', url: 'http://169.254.169.254/latest' }, 'which webhooks never reach'],
  [{ kind: 'SLACK', url: 'https://example.com', events: ['DISK'] }, 'destinations of the installation only'],
])('%j is a 400: %s', async (body, detail) => {
  const answer = await call('POST', PATH, { name: 'x', ...body });
  expect([answer.statusCode, answer.json().detail]).toEqual([400, expect.stringContaining(detail)]);
  expect(await list()).toEqual([]);
});

test('what does not fit the schema is refused, and so are a key that only reads and more than twenty', async () => {
  for (const body of [
    { kind: 'SLACK', url },
    { name: 'x', kind: 'PAGER', url },
    { name: 'x', kind: 'EMAIL', email: 'a@example.com, b@example.com' },
    { name: 'x', kind: 'EMAIL', email: 'a@example.com\r\nBcc: b@example.com' },
    { name: 'x', kind: 'SLACK', url, events: [] },
    { name: 'x', kind: 'SLACK', url, waitMinutes: 0 },
    { name: 'x', kind: 'SLACK', url, secret: 'mine' },
  ])
    expect((await call('POST', PATH, body)).statusCode, JSON.stringify(body)).toBe(422);
  const reader = await rest.keyFor(rest.alice, 'account:read');
  expect((await call('POST', PATH, { name: 'x', kind: 'SLACK', url }, reader)).statusCode).toBe(403);
  expect((await rest.call('GET', PATH)).statusCode).toBe(401);
  for (let i = 0; i < 20; i++) await make({ name: 'x', kind: 'SLACK', url });
  expect((await call('POST', PATH, { name: 'x', kind: 'SLACK', url })).statusCode).toBe(403);
});

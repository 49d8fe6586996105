import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import type { DestinationKind, NoticeItem, NoticeMessage } from '../domain/notices/notice.ts';
import type { MailSettings } from './read-mail-settings.ts';
import { NoticePost } from './send-notice.ts';

const TLS = (name: string) => readFileSync(new URL(`../../test/fixtures/tls/${name}`, import.meta.url), 'utf8');
const ITEM: NoticeItem = {
  ...{ event: 'ENDPOINT_FAILING', phase: 'BEGAN', name: 'llm', owner: 'alice', page: '/endpoints/e1' },
  detail: 'the last 3 starts failed: it exited with code 1',
};
const message = (items: readonly NoticeItem[] = [ITEM], more = 0): NoticeMessage => ({ id: 'notice-7', items, more });
const never = new AbortController().signal;

interface Received {
  headers: Record<string, unknown>;
  body: string;
}
let receiver: Server;
let port: number;
let status = 200;
const received: Received[] = [];
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  receiver = createServer(async (req, res) => {
    received.push({ headers: req.headers, body: Buffer.concat(await req.toArray()).toString() });
    res.writeHead(status, { location: 'http://127.0.0.1:1/' }).end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  port = (receiver.address() as AddressInfo).port;
});
afterAll(() => receiver.close());
afterEach(async () => {
  received.length = 0;
  status = 200;
  for (const close of closing.splice(0)) await close();
});

const postTo = (mail: MailSettings | null = null, allowPrivate = true) =>
  new NoticePost({
    ...{ mail, publicUrl: 'https://podyard.example.com/' },
    webhooks: new WebhookPolicy({ allowPrivate, allowed: [] }),
  });
const hook = (kind: DestinationKind, signing: string | null = null) => ({
  ...{ kind, address: '127.0.0.1' },
  secret: { url: `http://127.0.0.1:${port}/hook`, signing },
});

/** A real mail server. */
async function smtp(options: SMTPServerOptions = {}) {
  const mails: { from: string; to: string[]; text: string; isSecure: boolean }[] = [];
  const server = new SMTPServer({
    ...{ key: TLS('first.key'), cert: TLS('first.crt'), logger: false, closeTimeout: 100 },
    onAuth: ({ username, password }, _, done) =>
      password === 'right'
        ? done(null, { user: username })
        : done(new Error('Invalid username or password: wrong-pass')),
    onData: async (stream, { envelope, secure }, done) => {
      const text = Buffer.concat(await stream.toArray()).toString();
      const to = envelope.rcptTo.map(({ address }) => address);
      mails.push({ from: envelope.mailFrom ? envelope.mailFrom.address : '', to, text, isSecure: secure });
      done();
    },
    ...options,
  });
  server.on('error', () => {}); // clients that hang up
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => new Promise((resolve) => server.close(() => resolve(null))));
  return { mails, port: (server.server.address() as AddressInfo).port };
}
const mailAt = (smtpPort: number, more: Partial<MailSettings> = {}): MailSettings => ({
  ...{ host: 'localhost', port: smtpPort, security: 'STARTTLS', login: { user: 'podyard', password: 'right' } },
  ...{ from: 'Podyard <podyard@example.com>', ca: TLS('first.crt'), anyRecipientIn: [] },
  ...more,
});
const EMAIL = { kind: 'EMAIL', address: 'ops@example.com', secret: null } as const;

test('a mail is sent with STARTTLS and a password: what happened, what to do, and the page', async () => {
  const { mails, port } = await smtp();
  await postTo(mailAt(port)).send(EMAIL, message(), never);
  expect(mails).toMatchObject([{ from: 'podyard@example.com', to: ['ops@example.com'], isSecure: true }]);
  const text = mails[0]!.text.replaceAll(/=\r?\n/g, '');
  for (const part of [
    'Subject: [Podyard] Endpoint llm fails',
    'Message-ID: <notice-7@podyard>',
    'the last 3 starts failed',
    'What to do: Read its workers',
    'https://podyard.example.com/#/endpoints/e1',
  ])
    expect(text).toContain(part);
});

test('a name can neither add a header to a mail nor a recipient', async () => {
  const { mails, port } = await smtp();
  const name = 'a\r\nBcc: victim@example.com\r\n\r\nbody';
  await postTo(mailAt(port)).send(EMAIL, message([{ ...ITEM, name }]), never);
  expect(mails[0]!.to).toEqual(['ops@example.com']);
  expect(mails[0]!.text).not.toMatch(/^Bcc:/m);
});

test.each([
  [
    'a wrong password is refused, and the answer does not quote it',
    { login: { user: 'u', password: 'wrong-pass' } },
    {},
    /answered: 535 .*\*\*\*/,
  ],
  [
    'a server without STARTTLS gets no mail',
    {},
    { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] },
    /answered: 500/,
  ],
  ['a certificate that is not trusted gets no mail', { ca: null }, {}, /did not take it/],
] as [string, Partial<MailSettings>, SMTPServerOptions, RegExp][])('%s', async (_, settings, options, wanted) => {
  const { mails, port } = await smtp(options);
  await expect(postTo(mailAt(port, settings)).send(EMAIL, message(), never)).rejects.toThrow(wanted);
  expect(mails).toEqual([]);
});

test('a recipient whom the server refuses is an error with its answer', async () => {
  const { port } = await smtp({ onRcptTo: (_address, _session, done) => done(new Error('no such mailbox')) });
  await expect(postTo(mailAt(port)).send(EMAIL, message(), never)).rejects.toThrow(/answered: 550 .*no such mailbox/);
});

test('a server that is away, or never answers, is an error that names no address', async () => {
  const silent: NetServer = createNetServer(() => {});
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const silentPort = (silent.address() as AddressInfo).port;
  const stop = new AbortController();
  const waiting = postTo(mailAt(silentPort)).send(EMAIL, message(), stop.signal);
  stop.abort();
  await expect(waiting).rejects.toThrow('the mail server did not take it');
  await new Promise((resolve) => silent.close(resolve));
  const away = postTo(mailAt(silentPort)).send(EMAIL, message(), never);
  await expect(away).rejects.toThrow(/^the mail server did not take it \(E?[A-Z]+\)$/);
});

test('without a mail server, mail is refused with what the operator has to do', async () => {
  await expect(postTo().send(EMAIL, message(), never)).rejects.toThrow('--mail');
});

test('a webhook is signed with its time', async () => {
  await postTo().send(hook('WEBHOOK', 'the secret'), message(), never);
  const [{ headers, body }] = received as [Received];
  const signed = createHmac('sha256', 'the secret').update(`${headers['podyard-timestamp']}.${body}`).digest('hex');
  expect(headers['podyard-signature']).toBe(`sha256=${signed}`);
  expect(Math.abs(Number(headers['podyard-timestamp']) - Date.now() / 1_000)).toBeLessThan(60);
  expect(JSON.parse(body)).toMatchObject({
    ...{ type: 'notice', id: 'notice-7', more: 0 },
    items: [
      { event: 'ENDPOINT_FAILING', title: 'Endpoint llm fails', url: 'https://podyard.example.com/#/endpoints/e1' },
    ],
  });
});

test('Slack and Teams get their JSON, in which names are no links and call nobody', async () => {
  const name = '<!channel> @here *x* [click](https://evil.example)';
  const items = [{ ...ITEM, name }];
  await postTo().send(hook('SLACK'), message(items, 3), never);
  await postTo().send(hook('TEAMS'), message(items), never);
  const [slack, teams] = received.map(({ body }) => JSON.parse(body));
  expect(slack.text).toContain('&lt;!channel&gt;');
  for (const wrong of ['<!channel>', '@here', '*x*', '[click]']) expect(slack.text).not.toContain(wrong);
  expect(slack.text).toContain('<https://podyard.example.com/#/endpoints/e1|Open>');
  expect(slack.text).toContain('And 3 more.');
  const card = teams.attachments[0];
  expect(card.contentType).toBe('application/vnd.microsoft.card.adaptive');
  expect(card.content.body[0].text).toContain('\\[click\\]\\(https');
  expect(card.content.actions[0].url).toBe('https://podyard.example.com/#/endpoints/e1');
  for (const { headers } of received) expect(headers).not.toHaveProperty('podyard-signature');
});

test('several of a kind are one title', async () => {
  await postTo().send(hook('TEAMS'), message([ITEM, { ...ITEM, name: 'b' }], 1), never);
  expect(JSON.parse(received[0]!.body).attachments[0].content.body[0].text).toBe('3 endpoints fail');
});

test('no address that webhooks may not reach is asked, and no redirect followed', async () => {
  await expect(postTo(null, false).send(hook('SLACK'), message(), never)).rejects.toThrow('127.0.0.1');
  expect(received).toEqual([]);
  status = 302;
  await expect(postTo().send(hook('SLACK'), message(), never)).rejects.toThrow('status 302');
  expect(received).toHaveLength(1);
});

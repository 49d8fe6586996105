import { once } from 'node:events';
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import type { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { readFileByUrl } from './https.ts';

/** docs/interface/models.md. Both servers are on loopback, and users may have the server go to the first. */
const SHA = 'ab'.repeat(32);
let answer: RequestListener;
let seen: [method: string | undefined, path: string | undefined, authorization: string | undefined][];
let first: Server;
let second: Server;
beforeAll(async () => {
  const listen = async (listener: RequestListener) => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  first = await listen((req, res) => {
    seen.push([req.method, req.url, req.headers.authorization]);
    answer(req, res);
  });
  second = await listen((req, res) => {
    seen.push([req.method, req.url, req.headers.authorization]);
    res.writeHead(200, { 'content-length': '7' }).end();
  });
});
afterAll(() => {
  for (const server of [first, second]) server.closeAllConnections();
  return Promise.all([first, second].map((server) => new Promise((done) => server.close(done))));
});
beforeEach(() => {
  seen = [];
  answer = (_, res) => res.writeHead(200, { 'content-length': '5000' }).end();
});

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const hostOf = (server: Server) => `127.0.0.1:${portOf(server)}`;
/** The same requests without TLS, which is Node's to do. */
const plain = ((url: URL, options: object) =>
  httpRequest(url.href.replace('https:', 'http:'), options)) as typeof httpsRequest;
const read = (path = '/a/model.gguf', token: string | null = null, allowed = [first]) => {
  const networks = allowed.map((server) => ({ network: '127.0.0.1', port: portOf(server) }));
  const webhooks = new WebhookPolicy({ allowPrivate: false, allowed: networks });
  const reference = { source: 'HTTPS', url: `https://${hostOf(first)}${path}`, sha256: SHA } as const;
  return readFileByUrl(webhooks, reference, token, plain);
};
const refusal = (...input: Parameters<typeof read>) =>
  read(...input).then(
    () => null,
    ({ kind, message }) => [kind, message.replaceAll(hostOf(first), 'HOST')],
  );

test('a file has the size that its server says and the digest that its user gives', async () => {
  const digest = `sha256:${SHA}`;
  expect(await read()).toEqual({
    ...{ source: 'HTTPS', name: `https://${hostOf(first)}/a/model.gguf`, commit: digest, task: null },
    files: [{ path: 'model.gguf', size: 5_000, digest }],
  });
  expect((await read('/a/my%20model.gguf')).files[0]!.path).toBe('my model.gguf');
  expect(seen[0]).toEqual(['HEAD', '/a/model.gguf', undefined]);
});

test('a redirect is followed where users may go, without the token', async () => {
  answer = (_, res) => res.writeHead(302, { location: `https://${hostOf(second)}/b` }).end();
  expect((await read('/a', 'secret', [first, second])).files).toMatchObject([{ path: 'a', size: 7 }]);
  expect(seen).toEqual([
    ['HEAD', '/a', 'Bearer secret'],
    ['HEAD', '/b', undefined],
  ]);
});

test('a redirect into a network that users may not reach is refused, and so is one without TLS', async () => {
  answer = (_, res) => res.writeHead(302, { location: `https://${hostOf(second)}/b` }).end();
  expect(await refusal()).toEqual([
    'badRequest',
    expect.stringMatching(/^127\.0\.0\.1 is an address of the server's own machine, which models never come from/),
  ]);
  answer = (_, res) => res.writeHead(302, { location: `http://${hostOf(first)}/b` }).end();
  expect(await refusal()).toEqual(['badRequest', 'https://HOST/a/model.gguf redirects to an address without TLS']);
  answer = (_, res) => res.writeHead(302, { location: '/again' }).end();
  expect(await refusal()).toEqual(['badRequest', 'https://HOST/a/model.gguf redirects more than 5 times']);
  expect(seen.filter(([, path]) => path === '/b')).toEqual([]);
});

test.each<[string, RequestListener, string, string]>([
  ['is not there', (_, res) => res.writeHead(404).end(), 'badRequest', 'https://HOST/a/model.gguf is not there'],
  [
    'may not be read',
    (_, res) => res.writeHead(403).end(),
    'badRequest',
    'https://HOST/a/model.gguf may not be read: it is answered with status 403',
  ],
  [
    'has no size',
    (_, res) => res.writeHead(200).end(),
    'badRequest',
    'https://HOST/a/model.gguf: its server does not say how large it is',
  ],
  [
    'has a broken server',
    (_, res) => res.writeHead(500).end(),
    'unavailable',
    'https://HOST/a/model.gguf is answered with status 500',
  ],
  [
    'has a server that hangs up',
    (req) => req.socket.destroy(),
    'unavailable',
    'HOST cannot be reached: try again later',
  ],
  [
    'has a server that changes the protocol',
    (_, res) => res.writeHead(101, { connection: 'upgrade', upgrade: 'other' }).end(),
    'unavailable',
    'HOST cannot be reached: try again later',
  ],
])('a file that %s is refused', async (_, listener, kind, message) => {
  answer = listener;
  expect(await refusal()).toEqual([kind, message]);
});

test('a name that leads out of a folder is none of a file', async () => {
  for (const path of ['/a/%2e%2e', '/a/x%2fy', '/a/%00', '/a/%ff']) {
    expect(await refusal(path)).toEqual(['badRequest', expect.stringMatching(/does not end with the name of a file$/)]);
  }
});

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { takenBytes } from '../../core/flow/taken-bytes.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import { refuseUnreadable } from '../../http/refuse-unreadable.ts';
import { sendBody, sendNoContent, sendProblem, writeHead } from '../exchange.ts';
import { Front } from './front.ts';
import { TrustedProxies } from './trusted-proxies.ts';
import { answerOnWire } from './wire-response.ts';

const LARGE = 20_000_000;

type Held = { req: CallRequest; res: CallResponse };
let onHeld: (held: Held) => void;

/** One handler, which both implementations of HTTP call. */
function handle(req: CallRequest, res: CallResponse): void {
  const path = req.url!.replace(/^\/(?:wire|node)/, '');
  if (path === '/body') readAll(req, (body) => sendBody(res, 200, 'text/plain', `${req.method} ${body}`));
  else if (path === '/headers') sendBody(res, 200, 'application/json', JSON.stringify(req.headers));
  else if (path === '/none') sendNoContent(res, ['podyard-sleep', '1']);
  else if (path === '/problem') sendProblem(res, new Error('any'));
  else if (path === '/held') onHeld({ req, res });
  else if (path === '/stream') {
    writeHead(res, 200, ['content-type', 'text/event-stream']);
    for (const piece of ['one', 'zwölf', '€', 'x'.repeat(9_000)]) res.write(piece);
    res.end('end');
  } else if (path === '/large') sendBody(res, 200, 'text/plain', 'ö'.repeat(LARGE / 2));
  else sendBody(res, 200, 'text/plain', 'ok €');
}

function readAll(req: CallRequest, done: (body: string) => void): void {
  const chunks: Buffer[] = [];
  req.on('data', (chunk) => void chunks.push(Buffer.from(chunk)));
  req.on('end', () => done(Buffer.concat(chunks).toString()));
  req.resume();
}

/** A front that serves `/wire/…` itself and hands `/node/…` off. */
async function startFront(tls: { cert: Buffer; key: Buffer } | null = null): Promise<{ front: Front; port: number }> {
  const http = createServer(handle);
  http.on('clientError', refuseUnreadable);
  http.on('checkContinue', (req, res) => {
    res.writeContinue();
    handle(req, res);
  });
  const front = new Front({
    ...{ tls, http, trustedProxies: new TrustedProxies([]) },
    dispatch: ({ target }) =>
      target.startsWith('/wire') ? (exchange) => answerOnWire(exchange, exchange.target, 'X-All: 1\r\n', handle) : null,
  });
  front.server.listen(0, '127.0.0.1');
  await once(front.server, 'listening');
  onTestFinished(() => front.close());
  return { front, port: (front.server.address() as AddressInfo).port };
}

async function open(): Promise<Socket> {
  const { port } = await startFront();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Removes what differs between the two on purpose, or changes with time. */
function normalized(answer: string): string {
  const kept = answer
    .toLowerCase()
    .split('\r\n')
    .filter((line) => !/^(?:date|x-all|keep-alive|connection: keep-alive|x-request-id)/i.test(line));
  const [status, ...rest] = kept;
  const end = rest.indexOf('');
  return [status, ...rest.slice(0, end).sort(), ...rest.slice(end)].join('\n');
}

/** Sends the same to both and returns the whole answers; the connection must end by itself. */
async function both(request: (path: string) => string): Promise<{ wire: string; node: string }> {
  const answers = await Promise.all(
    ['/wire', '/node'].map(async (prefix) => {
      const socket = await open();
      socket.write(request(prefix));
      return normalized(await text(socket));
    }),
  );
  return { wire: answers[0]!, node: answers[1]! };
}

const HOST = 'Host: a\r\n';
const CLOSE = `${HOST}Connection: close\r\n`;

describe('answers are the same as those of node', () => {
  test.each<[string, (path: string) => string]>([
    ['a response with a length', (at) => `GET ${at}/any HTTP/1.1\r\n${CLOSE}\r\n`],
    ['a response without a body', (at) => `GET ${at}/none HTTP/1.1\r\n${CLOSE}\r\n`],
    ['a stream', (at) => `GET ${at}/stream HTTP/1.1\r\n${CLOSE}\r\n`],
    ['a refusal', (at) => `GET ${at}/problem HTTP/1.1\r\n${CLOSE}\r\n`],
    ['a large response', (at) => `GET ${at}/large HTTP/1.1\r\n${CLOSE}\r\n`],
    ['HEAD', (at) => `HEAD ${at}/any HTTP/1.1\r\n${CLOSE}\r\n`],
    ['HTTP/1.0', (at) => `GET ${at}/any HTTP/1.0\r\n\r\n`],
    ['HTTP/1.0 and a body', (at) => `POST ${at}/body HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc`],
    ['an upgrade', (at) => `GET ${at}/any HTTP/1.1\r\n${HOST}Connection: close, upgrade\r\nUpgrade: websocket\r\n\r\n`],
    ['a body', (at) => `POST ${at}/body HTTP/1.1\r\n${CLOSE}Content-Length: 3\r\n\r\nabc`],
    [
      'chunks',
      (at) => `POST ${at}/body HTTP/1.1\r\n${CLOSE}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`,
    ],
    ['broken chunks', (at) => `POST ${at}/body HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nx\r\nab`],
    [
      'requests one after the other',
      (at) =>
        `GET ${at}/any HTTP/1.1\r\n${HOST}\r\nPOST ${at}/body HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\nxGET ${at}/none HTTP/1.1\r\n${CLOSE}\r\n`,
    ],
    [
      'a body that nobody reads, and another request',
      (at) => `POST ${at}/any HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\nxGET ${at}/none HTTP/1.1\r\n${CLOSE}\r\n`,
    ],
    [
      'a refused body, and another request',
      (at) => `POST ${at}/problem HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\nxGET ${at}/none HTTP/1.1\r\n${CLOSE}\r\n`,
    ],
    [
      'repeated headers',
      (at) =>
        `GET ${at}/headers HTTP/1.1\r\n${CLOSE}X-Forwarded-For: a\r\nx-forwarded-for: b\r\nAuthorization: c\r\n` +
        'Authorization: d\r\nCookie: e\r\nCookie: f\r\nUser-Agent: g\r\nuser-agent: h\r\n\r\n',
    ],
  ])(
    '%s',
    async (_what, request) => {
      const { wire, node } = await both(request);
      expect(wire === node || wire).toBe(node === wire || node);
    },
    20_000,
  );

  test('a client that ends its side gets no answer', async () => {
    for (const at of ['/wire', '/node']) {
      const closed = new Promise<void>((resolve) => {
        onHeld = ({ res }) => res.once('close', resolve);
      });
      const socket = await open();
      socket.end(`GET ${at}/held HTTP/1.1\r\n${HOST}\r\n`);
      expect(await text(socket)).toBe('');
      await closed;
    }
  });
});

test('another expectation is a 417', async () => {
  const socket = await open();
  socket.write(`POST /wire/body HTTP/1.1\r\n${CLOSE}Expect: much\r\nContent-Length: 3\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 417 /);
});

test('100 Continue comes before the body', async () => {
  const socket = await open();
  socket.write(`POST /wire/body HTTP/1.1\r\n${CLOSE}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n`);
  const [interim] = (await once(socket, 'data')) as [Buffer];
  expect(String(interim)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write('abc');
  expect(await text(socket)).toContain('POST abc');
});

test('a connection is handed off after the whole answer to an earlier request', async () => {
  const socket = await open();
  socket.pause();
  socket.write(
    `GET /wire/large HTTP/1.1\r\n${HOST}\r\nGET /node/any HTTP/1.1\r\n${HOST}\r\nGET /wire/any HTTP/1.1\r\n${CLOSE}\r\n`,
  );
  const answer = await text(socket);
  expect(answer.length).toBeGreaterThan(LARGE / 2);
  const [, ...later] = answer.split('HTTP/1.1 200 OK\r\n').slice(1);
  expect(later).toHaveLength(2);
  for (const one of later) expect(one).toContain('ok €');
});

test('a client gets no more pipelined answers than it reads', async () => {
  let answered = 0;
  onHeld = ({ res }) => {
    answered += 1;
    sendBody(res, 200, 'text/plain', 'x'.repeat(4_000_000));
  };
  const socket = await open();
  socket.pause();
  socket.write(`GET /wire/held HTTP/1.1\r\n${HOST}\r\n`.repeat(50));
  await expect.poll(() => answered).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(answered).toBeLessThan(10);
  socket.resume();
  await expect.poll(() => answered, { timeout: 20_000 }).toBe(50);
});

test('requests that come together are all answered in order, also if their client has ended its side', async () => {
  const socket = await open();
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  const post = (body: string) => `POST /wire/body HTTP/1.1\r\n${HOST}Content-Length: ${body.length}\r\n\r\n${body}`;
  const bodies = Array.from({ length: 500 }, (_, i) => `<${i}>`);
  socket.end(bodies.map(post).join(''));
  await once(socket, 'end');
  expect(received.match(/<\d+>/g)).toEqual(bodies);
});

test('a request that follows a body in one packet is answered', async () => {
  const socket = await open();
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  socket.setNoDelay().write(`POST /wire/body HTTP/1.1\r\n${HOST}Content-Length: 4\r\n\r\n`);
  await new Promise((resolve) => setTimeout(resolve, 50)); // for a packet of its own
  socket.write(`body${`GET /wire/any HTTP/1.1\r\n${HOST}\r\n`.repeat(2)}`);
  await expect.poll(() => received.match(/POST body|ok/g)).toEqual(['POST body', 'ok', 'ok']);
});

test('of what a client sends ahead of its answers little is taken from the network', async () => {
  let answered = 0;
  onHeld = ({ res }) => {
    answered += 1;
    setImmediate(() => sendNoContent(res));
  };
  const socket = await open();
  socket.resume();
  socket.write(Buffer.alloc(40_000_000, `GET /wire/held HTTP/1.1\r\n${HOST}\r\n`));
  await expect.poll(() => answered).toBeGreaterThan(500);
  expect(takenBytes(socket)).toBeLessThan(20_000_000); // most of it in the kernel
});

test('a response is finished when its client has it, and writes wait for it', async () => {
  const held = new Promise<Held>((resolve) => {
    onHeld = resolve;
  });
  const socket = await open();
  socket.pause();
  socket.write(`GET /wire/held HTTP/1.1\r\n${CLOSE}\r\n`);
  const { res } = await held;
  writeHead(res, 200, []);
  while (res.write('x'.repeat(500_000)));
  expect(res.writableNeedDrain).toBe(true);
  const drained = new Promise<void>((resolve) => void res.once('drain', resolve));
  socket.resume();
  await drained;
  socket.pause();
  const finished = vi.fn();
  res.once('finish', finished);
  res.end('y'.repeat(LARGE));
  expect(res.writableFinished).toBe(false);
  expect(finished).not.toHaveBeenCalled();
  socket.resume();
  expect(await text(socket)).toMatch(/y\r\n0\r\n\r\n$/);
  expect(finished).toHaveBeenCalledOnce();
});

test('a client that goes away closes request and response', async () => {
  const held = new Promise<Held>((resolve) => {
    onHeld = resolve;
  });
  const socket = await open();
  socket.write(`POST /wire/held HTTP/1.1\r\n${HOST}Content-Length: 10\r\n\r\nabc`);
  const { req, res } = await held;
  req.resume();
  const closed = Promise.all([req, res].map((one) => new Promise<void>((resolve) => void one.once('close', resolve))));
  socket.destroy();
  await closed;
  expect([req.destroyed, req.complete, res.destroyed, res.headersSent]).toEqual([true, false, true, false]);
});

test('a body that is not read stays on the network, and one that pauses goes on', async () => {
  const held = new Promise<Held>((resolve) => {
    onHeld = resolve;
  });
  const socket = await open();
  socket.write(`POST /wire/held HTTP/1.1\r\n${CLOSE}Content-Length: ${LARGE}\r\n\r\n`);
  socket.write(Buffer.alloc(LARGE));
  const { req, res } = await held;
  let bytes = 0;
  req.on('data', (chunk) => {
    bytes += chunk.length;
    req.pause();
    setImmediate(() => req.resume());
  });
  req.on('end', () => sendBody(res, 200, 'text/plain', 'read'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(socket.writableLength).toBeGreaterThan(0);
  req.resume();
  expect(await text(socket)).toContain('read');
  expect(bytes).toBe(LARGE);
});

test('header values that would end their line are refused, and another response can be sent', async () => {
  const held = new Promise<Held>((resolve) => {
    onHeld = resolve;
  });
  const socket = await open();
  socket.write(`GET /wire/held HTTP/1.1\r\n${CLOSE}\r\n`);
  const { res } = await held;
  expect(() => writeHead(res, 200, ['etag', 'a\r\nb: c'])).toThrow('cannot be a header');
  sendProblem(res, new Error('any'));
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 500 /);
});

test('TLS', async () => {
  const file = (name: string) => readFileSync(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url));
  const { port } = await startFront({ cert: file('first.crt'), key: file('first.key') });
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  socket.write(`GET /wire/large HTTP/1.1\r\n${HOST}\r\nGET /node/any HTTP/1.1\r\n${CLOSE}\r\n`);
  const answer = await text(socket);
  expect(answer).toContain('X-All: 1\r\n');
  expect(answer.length).toBeGreaterThan(LARGE / 2);
  expect(answer).toMatch(/ok €$/);
});

describe('a body', () => {
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['gets a 408', '/wire/body', /^HTTP\/1\.1 408 Request Timeout\r\n.*The request body did not come in time\./s],
    ['ends its response, if that has begun,', '/wire/held', /^HTTP\/1\.1 200 OK\r\n/],
  ])('that comes too slowly %s and its connection is closed', async (_what, path, expected) => {
    const { port } = await startFront();
    vi.useFakeTimers({ toFake: ['setInterval', 'performance'] });
    onHeld = ({ res }) => {
      writeHead(res, 200, []);
      res.write('early');
    };
    const socket = connect(port, '127.0.0.1');
    const answer = text(socket);
    socket.write(`POST ${path} HTTP/1.1\r\n${HOST}Content-Length: 1000000\r\n\r\nabc`);
    let isOver = false;
    void answer.finally(() => {
      isOver = true;
    });
    for (let passed = 0; !isOver; passed += 500) {
      vi.advanceTimersByTime(500);
      await new Promise((resolve) => setImmediate(resolve));
      if (passed === 25_000) expect(isOver).toBe(false);
      expect(passed).toBeLessThan(60_000);
    }
    expect(await answer).toMatch(expected);
  });
});

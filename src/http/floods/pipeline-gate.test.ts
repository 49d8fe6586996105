import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { PipelineGate } from './pipeline-gate.ts';
import { ConnectionPace, RefusalPace } from './refusal-pace.ts';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0).reverse()) one.close();
});

interface Started {
  port: number;
  /** Requests at once, at most, of those that count. */
  most: number;
  served: string[];
}

/** A node server behind gates. A request is answered a moment after its body has come, with what it was. */
async function start(
  statusOf: (req: IncomingMessage) => number = () => 200,
  counts: (req: IncomingMessage) => boolean = () => true,
): Promise<Started> {
  const refusals = new RefusalPace();
  const started: Started = { port: 0, most: 0, served: [] };
  let busy = 0;
  const serve = async (req: IncomingMessage, res: ServerResponse) => {
    if (counts(req)) {
      started.most = Math.max(started.most, ++busy);
      res.once('close', () => void busy--);
    }
    const body = await text(req);
    started.served.push(`${req.method} ${req.url} ${body.length}`);
    setImmediate(() => res.writeHead(statusOf(req)).end(`${req.url};`));
  };
  const http: Server = createServer((req, res) => PipelineGate.of(req.socket)!.begin(res, () => void serve(req, res)));
  const listener = createNetServer({ allowHalfOpen: true }, (socket: Socket) => {
    http.emit('connection', socket);
    new PipelineGate(socket, new ConnectionPace(refusals, { remoteAddress: '192.0.2.1', proxies: null }));
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  open.push(listener);
  started.port = (listener.address() as AddressInfo).port;
  return started;
}

/** Sends the pieces in packets of their own; resolves with what came until `count` requests are answered. */
async function send(port: number, pieces: readonly string[], count: number): Promise<string[]> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  open.push({ close: () => socket.destroy() });
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  const answers = () => [...received.matchAll(/\/(\d+);/g)].map(([, number]) => number!);
  for (const piece of pieces) {
    socket.write(piece, 'latin1');
    if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => answers().length, { interval: 2 }).toBe(count);
  socket.destroy();
  return answers();
}

const get = (n: number) => `GET /${n} HTTP/1.1\r\nhost: a\r\n\r\n`;
const post = (n: number, body: string) =>
  `POST /${n} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const chunked = (n: number, body: string) =>
  `POST /${n} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));

test('pipelined requests are served one after the other, in order, each once', async () => {
  const server = await start();
  const all = numbers(300).map((n) => get(Number(n)));
  expect(await send(server.port, [all.join('')], 300)).toEqual(numbers(300));
  expect(server.most).toBe(1);
  expect(server.served).toHaveLength(300);
});

test('bodies arrive whole, whatever they look like and however the bytes are cut', async () => {
  const server = await start();
  const hostile = [
    ...['', '\r\n\r\n', 'GET /9 HTTP/1.1\r\nhost: a\r\n\r\n', '\r\n\r\n'.repeat(5_000), 'x'.repeat(200_000)],
    `${get(7)}${get(8)}`,
  ];
  const make = (body: string, i: number) => (i % 2 === 0 ? post(i, body) : chunked(i, body || 'x'));
  const bodies = [...hostile, ...hostile.slice(1), 'end'];
  const bytes = bodies.map(make).join('');
  for (const size of [bytes.length, 7_919, 997]) {
    server.served.length = 0;
    const pieces = bytes.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
    expect(await send(server.port, pieces, bodies.length)).toEqual(numbers(bodies.length));
    expect(server.served).toEqual(
      bodies.map((body, i) => `POST /${i} ${i % 2 === 0 ? body.length : body.length || 1}`),
    );
  }
});

test('requests with chunked bodies are served one after the other, too', async () => {
  const server = await start();
  const all = numbers(200).map((n) => chunked(Number(n), '{}'));
  expect(await send(server.port, [all.join('')], 200)).toEqual(numbers(200));
  expect(server.most).toBe(1);
});

test('a head that comes byte by byte is read, and so are empty lines before one', async () => {
  const server = await start();
  expect(await send(server.port, [...`\r\n\r\n${get(0)}${post(1, 'abc')}`], 2)).toEqual(['0', '1']);
  expect(await send(server.port, [`${'\r\n'.repeat(2_000)}${get(0)}${get(1)}`], 2)).toEqual(['0', '1']);
});

test('a flood of refusals is slowed down, and another connection of the same network is not', async () => {
  const server = await start((req) => (req.method === 'GET' ? 404 : 200));
  const flood = connect({ port: server.port, host: '127.0.0.1' });
  open.push({ close: () => flood.destroy() });
  flood.on('error', () => {}).resume();
  flood.write(
    numbers(5_000)
      .map((n) => get(Number(n)))
      .join(''),
  );
  await expect.poll(() => server.served.length).toBeGreaterThan(100);
  const startedAt = performance.now();
  const before = server.served.length;
  for (let i = 0; i < 20; i++) await send(server.port, [post(i, 'x')], 1);
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(seconds).toBeLessThan(1);
  const floodServed = server.served.length - before - 20;
  expect(floodServed).toBeLessThanOrEqual(150 + seconds * 150);
  expect(server.served.length).toBeLessThan(1_000);
});

test('of many connections that send requests ahead, few are served at once', async () => {
  const isSentAhead = (req: IncomingMessage) => req.url !== '/1'; // the first of each is served at once
  const started = await start(() => 200, isSentAhead);
  const all = Array.from({ length: 12 }, () => send(started.port, [get(1) + get(2) + get(3) + get(4)], 4));
  expect(await Promise.all(all)).toEqual(Array(12).fill(['1', '2', '3', '4']));
  expect(started.most).toBeLessThanOrEqual(4);
});

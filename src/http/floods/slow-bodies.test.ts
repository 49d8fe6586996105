import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SlowBodies } from './slow-bodies.ts';

let now: number;
let slowBodies: SlowBodies;
let server: Server;
let client: Socket;
/** The bytes of bodies that arrived so far. */
let arrived: number;
let onArrived: () => void;

beforeEach(async () => {
  now = 0;
  arrived = 0;
  onArrived = () => {};
  slowBodies = new SlowBodies({ clock: { now: () => now } });
  server = createServer({ requestTimeout: 0 }, (req, res) => {
    slowBodies.watch(res);
    if (req.url === '/early') res.write('early');
    if (req.url === '/waits') {
      onArrived();
      return;
    }
    if (req.url === '/left') {
      void leave(req, res);
      return;
    }
    req.on('data', (chunk: Buffer) => {
      arrived += chunk.length;
      onArrived();
    });
    req.on('end', () => res.end('whole'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
});
afterEach(() => {
  client.destroy();
  server.close();
  server.closeAllConnections();
});

/** As an iterator or a pipeline ends that reads no further: node then takes the socket from the request. */
async function leave(req: IncomingMessage, res: ServerResponse): Promise<void> {
  for await (const chunk of req as AsyncIterable<Buffer>) {
    arrived += chunk.length;
    break;
  }
  res.end('refused');
  onArrived();
}

/** Sends a part of a body and waits until it arrived. */
async function send(bytes: number, head = ''): Promise<void> {
  const wanted = arrived + bytes;
  const all = new Promise<void>((resolve) => {
    onArrived = () => arrived >= wanted && resolve();
  });
  client.write(head + 'x'.repeat(bytes));
  await all;
}

function checkAt(seconds: number): void {
  now = seconds * 1_000;
  slowBodies.check();
}

const head = (path: string, length: number) => `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`;

describe('a body', () => {
  test('that nobody reads yet waits as long as it must', async () => {
    const seen = new Promise<void>((resolve) => {
      onArrived = resolve;
    });
    client.write(head('/waits', 1_000_000));
    await seen;
    for (const seconds of [0, 30, 60, 120]) checkAt(seconds);
    expect(client.readableLength).toBe(0);
    expect(client.destroyed).toBe(false);
  });

  test('that comes too slowly gets a 408 after half a minute, and its connection is closed', async () => {
    await send(10, head('/', 1_000_000));
    checkAt(0);
    await send(10);
    checkAt(30);
    expect(client.destroyed).toBe(false);
    checkAt(35);
    const answer = await text(client);
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toContain('"detail":"The request body did not come in time."');
  });

  test('may take as long as it likes at 8 KiB a second', async () => {
    await send(1, head('/', 10_000_000));
    checkAt(0);
    for (let second = 10; second <= 300; second += 10) {
      await send(81_920);
      checkAt(second);
    }
    await send(10_000_000 - arrived);
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(String(answer)).toContain('200 OK');
  });

  test('that was refused in the middle cannot hold the connection either', async () => {
    const answered = once(client, 'data');
    await send(10, head('/left', 1_000_000));
    expect(String(await answered)).toContain('refused');
    client.on('error', () => {}).write('x'.repeat(100_000)); // reset, since nobody has read it
    checkAt(0);
    checkAt(60);
    await new Promise((resolve) => client.once('close', resolve));
  });

  test('of which only the rest is dropped cannot hold the connection either', async () => {
    await send(1, head('/early', 1_000_000));
    checkAt(0);
    checkAt(60);
    expect(await text(client)).toContain('early');
  });
});

test('a connection whose requests are complete stays open, however long ago they were', async () => {
  for (let i = 0; i < 3; i++) {
    const answered = once(client, 'data');
    await send(5, head('/', 5));
    await answered;
    checkAt(i * 100);
    checkAt(i * 100 + 90);
  }
  expect(client.destroyed).toBe(false);
});

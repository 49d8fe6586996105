import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { TransportReader } from './client-exchange.ts';
import { streamBinding } from './stream-binding.ts';
import { SocketTransport } from './transport.ts';

const LINE = `${'x'.repeat(1022)}\r\n`;

let server: Server;
let client: Socket;
let transport: SocketTransport;
let Transport = SocketTransport;

beforeEach(async () => {
  server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => {});
  const [accepted] = (await once(server, 'connection')) as [Socket];
  transport = Transport.accept(accepted);
});

afterEach(async () => {
  client.destroy();
  transport.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** Writes until the buffers of both sides are full; returns the number of lines. */
function fill(): number {
  let lines = 0;
  for (; !transport.isFull; lines++) transport.writeText(LINE);
  return lines;
}

async function readAll(): Promise<string> {
  let text = '';
  client.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await once(client, 'end');
  return text;
}

/** Loads the transport as in a version of Node.js without the binding. */
function useFallback(): void {
  beforeAll(async () => {
    vi.resetModules();
    vi.doMock('./stream-binding.ts', () => ({ streamBinding: null }));
    Transport = (await import('./transport.ts')).SocketTransport;
  });
  beforeEach(() => {
    Transport.onFallback = vi.fn();
  });
  afterEach(() => expect(Transport.onFallback).toHaveBeenCalled());
  afterAll(() => {
    vi.doUnmock('./stream-binding.ts');
    vi.resetModules();
    Transport = SocketTransport;
  });
}

const reader = (parts: Partial<TransportReader>): TransportReader => ({
  onBytes() {},
  onEnd() {},
  onDrain() {},
  onClosed() {},
  ...parts,
});

test('this version of Node.js has the binding that spares a write the stream', () => {
  expect(streamBinding).not.toBeNull();
});

describe.each(['with', 'without'])('what is written to a transport, in a Node.js %s that binding,', (has) => {
  if (has === 'without') useFallback();

  test('arrives in order, also when the peer reads late', async () => {
    const lines = fill();
    transport.writeBytes(Buffer.from('some bytes\r\n'));
    transport.writeText('some text\r\n');
    transport.writeBytes(Buffer.alloc(300_000, 'y'));
    transport.writeText('the end');
    transport.end();
    const text = await readAll();
    const expected = `${LINE.repeat(lines)}some bytes\r\nsome text\r\n${'y'.repeat(300_000)}the end`;
    expect(text.length).toBe(expected.length);
    expect(text === expected).toBe(true);
  });

  test('makes the transport full while the peer does not read, and drains once it does', async () => {
    for (let turn = 0; turn < 3; turn++) {
      const drained = new Promise<boolean>((resolve) => {
        transport.reader = reader({ onDrain: () => resolve(transport.isFull) });
      });
      fill();
      expect(transport.isFull).toBe(true);
      client.resume();
      expect(await drained).toBe(false);
      client.pause();
    }
  });

  test('arrives whole before the transport is closed', async () => {
    const lines = fill();
    transport.closeSoon();
    expect((await readAll()).length).toBe(lines * LINE.length);
  });

  test('leaves in one piece at the end of the turn', async () => {
    transport.writeText('one ');
    transport.writeBytes(Buffer.from('piece'));
    expect(transport.socket.bytesWritten).toBe(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(transport.socket.bytesWritten).toBe(9);
    const [piece] = (await once(client, 'data')) as [Buffer];
    expect(piece.toString()).toBe('one piece');
  });

  test.each([
    ['is destroyed', () => transport.destroy()],
    ['is ended', () => transport.end()],
    ['is released', () => void transport.release(Buffer.alloc(0)).end()],
  ])('leaves before the transport %s in the same turn', async (_how, finish) => {
    transport.writeText('the last words');
    finish();
    expect(await readAll()).toBe('the last words');
  });

  test('is lost with the connection, which is reported once', async () => {
    const closed = new Promise<Error | null>((resolve) => {
      transport.reader = reader({ onClosed: resolve });
    });
    fill();
    client.resetAndDestroy();
    const error = (await closed) as NodeJS.ErrnoException | null;
    expect(['ECONNRESET', 'EPIPE']).toContain(error?.code);
    transport.writeText(LINE);
    expect(transport.isClosed).toBe(true);
  });
});

test('a transport whose write failed may be released: its error reaches nobody, and ends no process', async () => {
  const uncaught: unknown[] = [];
  const onUncaught = (error: unknown) => void uncaught.push(error);
  process.on('uncaughtException', onUncaught);
  client.resetAndDestroy();
  await once(client, 'close');
  for (let i = 0; i < 50 && !transport.isClosed; i++) transport.writeText(LINE); // fails at once: the peer has reset the connection
  expect(transport.isClosed).toBe(true);
  const released = transport.release(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  process.off('uncaughtException', onUncaught);
  expect(uncaught).toEqual([]);
  released.destroy();
});

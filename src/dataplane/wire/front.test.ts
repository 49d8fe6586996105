import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { Agent, createServer, type IncomingMessage, get as plainGet, type Server } from 'node:http';
import { get } from 'node:https';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { drainableResponse } from '../../http/refuse-unreadable.ts';
import { readCertificate, watchCertificate } from './certificate.ts';
import type { ClientExchange } from './client-exchange.ts';
import { Front } from './front.ts';
import { TrustedProxies } from './trusted-proxies.ts';

const FIXTURES = fileURLToPath(new URL('../../../test/fixtures/tls/', import.meta.url));

let dir: string;
let files: { certFile: string; keyFile: string };
const open: { close(): unknown }[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podyard-tls-'));
  files = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
  await install('first');
});

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  await rm(dir, { recursive: true });
});

async function install(name: 'first' | 'second'): Promise<void> {
  await copyFile(join(FIXTURES, `${name}.crt`), files.certFile);
  await copyFile(join(FIXTURES, `${name}.key`), files.keyFile);
}

async function startFront(isSecure = true): Promise<{ front: Front; http: Server; port: number }> {
  const http = createServer({ ServerResponse: drainableResponse(() => front.isDraining) }, (req, res) => {
    setTimeout(() => res.end('the other planes'), req.url === '/slow' ? 200 : 0);
  });
  const front: Front = new Front({
    tls: isSecure ? await readCertificate(files) : null,
    http,
    trustedProxies: new TrustedProxies([]),
    dispatch: ({ host }) =>
      host.startsWith('pod') ? (exchange) => exchange.answer(200, 'OK', [], bodyFor(exchange)) : null,
  });
  front.server.listen(0, '127.0.0.1');
  await once(front.server, 'listening');
  open.push({ close: () => front.close() });
  return { front, http, port: (front.server.address() as AddressInfo).port };
}

/** As many bytes as the request asks for, or what the proxy knows of it. */
function bodyFor({ headers, isSecure }: ClientExchange): string {
  const bytes = headers.get('x-bytes');
  return bytes === undefined ? `proxy ${isSecure}` : 'x'.repeat(Number(bytes));
}

function ask(port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, rejectUnauthorized: false, headers: { host }, agent: false }, (res) => {
      text(res).then(resolve, reject);
    }).on('error', reject);
  });
}

/** Resolves with the certificate and the protocol that a new connection gets. */
async function shown(port: number): Promise<{ name: string; protocol: string | false | null }> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] });
  await once(socket, 'secureConnect');
  const found = { name: String(socket.getPeerCertificate().subject.CN), protocol: socket.alpnProtocol };
  socket.destroy();
  return found;
}

describe('the public listener with a certificate', () => {
  it('serves all planes over TLS, as HTTP/1.1', async () => {
    const { port } = await startFront();
    expect(await ask(port, 'pod-80.localhost')).toBe('proxy true');
    expect(await ask(port, 'localhost')).toBe('the other planes');
    expect(await shown(port)).toEqual({ name: 'first.localhost', protocol: 'http/1.1' });
  });

  it('uses a renewed certificate for new connections', async () => {
    const { front, port } = await startFront();
    open.push({
      close: watchCertificate(
        files,
        (options) => front.useCertificate(options),
        () => {},
      ),
    });
    const renew = async () => {
      await install('second'); // repeated: a poll may fall between the two copies
      return (await shown(port)).name;
    };
    await expect.poll(renew, { interval: 2000, timeout: 40_000 }).toBe('second.localhost');
  });

  it('rejects a key of another certificate', async () => {
    await copyFile(join(FIXTURES, 'second.key'), files.keyFile);
    await expect(readCertificate(files)).rejects.toThrow('are not a certificate and its private key');
  });
});

describe('a public listener that drains', () => {
  /** Sends a request on its one connection, which stays open if the answer lets it. */
  function client(port: number) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    open.push({ close: () => agent.destroy() });
    return async (host: string, path = '/') => {
      const sent = plainGet({ host: '127.0.0.1', port, path, headers: { host }, agent });
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      await text(response);
      return { connection: response.headers.connection, port: sent.socket?.localPort };
    };
  }

  it.each(['pod-80.localhost', 'localhost'])(
    'ends a connection with its next answer, not before (%s)',
    async (host) => {
      const { front, port } = await startFront(false);
      const ask = client(port);
      const first = await ask(host);
      expect(first.connection).not.toBe('close');
      front.drain();
      const second = await ask(host);
      expect(second).toEqual({ connection: 'close', port: first.port });
      expect((await ask(host)).port).not.toBe(first.port); // it still serves
    },
  );

  it('also ends the connection of a request that it answers from before', async () => {
    const { front, http, port } = await startFront(false);
    const arrived = once(http, 'request');
    const answer = client(port)('localhost', '/slow');
    await arrived;
    front.drain();
    expect((await answer).connection).toBe('close');
  });
});

describe('a client that reads slowly', () => {
  const BYTES = 24 * 2 ** 20; // more than the kernel buffers
  const PAUSE_MS = 3_500; // longer than a connection lingers

  /** Asks for a large response, reads nothing for a while, then the rest. Returns how much came. */
  async function readSlowly(isSecure: boolean, connection: string): Promise<number> {
    const { port } = await startFront(isSecure);
    const socket = isSecure
      ? connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connectPlain(port, '127.0.0.1');
    open.push({ close: () => socket.destroy() });
    socket
      .pause()
      .write(`GET / HTTP/1.1\r\nHost: pod-80.localhost\r\nX-Bytes: ${BYTES}\r\nConnection: ${connection}\r\n\r\n`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    let read = 0;
    socket.on('data', (chunk) => {
      read += chunk.length;
      if (read > BYTES && connection === 'keep-alive') socket.end();
    });
    await once(socket.resume(), 'end');
    return read;
  }

  it.each([
    [false, 'close'],
    [true, 'close'],
    [false, 'keep-alive'],
  ])(
    'gets all of a response that ends its connection, or not (TLS: %s, %s)',
    async (isSecure, connection) => {
      expect(await readSlowly(isSecure, connection)).toBeGreaterThan(BYTES);
    },
    20_000,
  );
});

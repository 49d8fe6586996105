import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCertificate, watchCertificate } from './certificate.ts';
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

async function startFront(): Promise<{ front: Front; port: number }> {
  const http = createServer((_req, res) => res.end('the other planes'));
  const front = new Front({
    tls: await readCertificate(files),
    http,
    trustedProxies: new TrustedProxies([]),
    dispatch: ({ host }) =>
      host.startsWith('pod') ? (exchange) => exchange.answer(200, 'OK', [], `proxy ${exchange.isSecure}`) : null,
  });
  front.server.listen(0, '127.0.0.1');
  await once(front.server, 'listening');
  open.push({ close: () => front.close() });
  return { front, port: (front.server.address() as AddressInfo).port };
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
  }, 60_000);

  it('rejects a key of another certificate', async () => {
    await copyFile(join(FIXTURES, 'second.key'), files.keyFile);
    await expect(readCertificate(files)).rejects.toThrow('are not a certificate and its private key');
  });
});

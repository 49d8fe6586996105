import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { takenBytes } from './taken-bytes.ts';

const BYTES = 40 * 2 ** 20; // more than the kernel buffers
const FIXTURES = fileURLToPath(new URL('../../../test/fixtures/tls/', import.meta.url));
const TLS = { cert: readFileSync(`${FIXTURES}first.crt`), key: readFileSync(`${FIXTURES}first.key`) };
const open: { destroy(): void }[] = [];

afterEach(() => {
  for (const one of open.splice(0)) one.destroy();
});

/** Returns both ends of a connection; the client does not read yet. */
async function connection(isSecure: boolean): Promise<{ near: Socket; far: Socket }> {
  const server: Server = isSecure ? createTlsServer(TLS) : createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, isSecure ? 'secureConnection' : 'connection');
  const { port } = server.address() as AddressInfo;
  const far = isSecure
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect(port, '127.0.0.1');
  const [near] = (await accepted) as [Socket];
  server.close();
  near.on('error', () => {}); // the peer resets it at the end
  open.push(near, far);
  return { near, far: far.pause() };
}

test.each([
  ['plain', false],
  ['TLS', true],
])('one large write counts as it is read: %s', async (_name, isSecure) => {
  const { near, far } = await connection(isSecure);
  const before = takenBytes(near);
  const written = new Promise((resolve) => near.write(Buffer.alloc(BYTES), resolve));
  expect(near.bytesWritten).toBeGreaterThanOrEqual(BYTES); // so it cannot be the measure
  expect(takenBytes(near) - before).toBeLessThan(BYTES);

  let read = 0;
  const seen: number[] = [];
  far.on('data', (chunk) => {
    read += chunk.length;
    seen.push(takenBytes(near) - before);
  });
  far.resume();
  await written;
  while (read < BYTES) await once(far, 'data');
  expect(takenBytes(near) - before).toBeGreaterThanOrEqual(BYTES);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(new Set(seen).size).toBeGreaterThan(4);
});

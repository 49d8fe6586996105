import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { probeHealth } from './probe-health.ts';

let server: Server;
afterEach(() => {
  server?.close();
});

async function answering(
  onRequest: (socket: Socket, request: string) => void,
): Promise<{ host: string; port: number }> {
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => onRequest(socket, String(chunk)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}
const ask = (at: { host: string; port: number }, signal = new AbortController().signal) =>
  probeHealth(at, '/ping', signal);

test('the status is read from the first line, however it is split', async () => {
  const requests: string[] = [];
  const at = await answering((socket, request) => {
    requests.push(request);
    socket.setNoDelay(true);
    socket.write('HTTP/1.1 2');
    setImmediate(() => socket.write('04 No Content\r\n\r\n'));
  });
  expect(await ask(at)).toEqual({ kind: 'status', status: 204 });
  expect(requests[0]).toBe(
    `GET /ping HTTP/1.1\r\nHost: 127.0.0.1:${at.port}\r\nUser-Agent: Podyard-Health\r\nConnection: close\r\n\r\n`,
  );
});

test('a port without a listener, or with something else than HTTP, is closed', async () => {
  const at = await answering((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
  expect(await ask(at)).toEqual({ kind: 'closed' });
  await new Promise((resolve) => server.close(resolve));
  expect(await ask(at)).toEqual({ kind: 'closed' });
});

test('an aborted probe ends at once', async () => {
  const abort = new AbortController();
  const at = await answering(() => abort.abort());
  expect(await ask(at, abort.signal)).toEqual({ kind: 'silent' });
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { stayPaused } from './stay-paused.ts';

const BODY = Buffer.alloc(8 * 2 ** 20);

test('a body that nobody reads stays on the network, even if its connection was resumed and paused in one tick', async () => {
  const server = createServer();
  server.on('connection', stayPaused);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': BODY.length } });
  client.on('error', () => {}).end(BODY);
  const [req] = (await once(server, 'request')) as [IncomingMessage];
  req.socket.pause();
  req.socket.resume();
  req.socket.pause();
  await sleep(300); // time for what must not come
  expect(req.socket.bytesRead).toBeLessThan(1_000_000);
  server.closeAllConnections();
  server.close();
});

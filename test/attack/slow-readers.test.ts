/**
 * Clients that ask for large results and do not read them fill neither the memory, nor keep others from theirs:
 * docs/operations.md, "Memory for large results".
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';
import { Neighbor } from './neighbor.ts';
import { peakRssMb, resetPeakRss } from './peak-rss.ts';
import { createTenant } from './tenant.ts';

const OUTPUT_BYTES = 15 * 2 ** 20;
const READERS = 120;
const MAX_RSS_MB = 600;

let server: ServerProcess;
let neighbor: Neighbor;
let key: string;
let api: Api;
let endpoint: string;
beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'process' });
  ({ key } = await createTenant(server, 'attacker'));
  api = new Api({ url: server.url, key });
  endpoint = await api.createEndpoint({ workers: { min: 1, max: 1 } });
  neighbor = await Neighbor.start(server, { pauseMs: 5 });
});
const sockets: Socket[] = [];
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await neighbor?.stop();
  await server?.dispose();
});

/** Asks and never reads the answer. */
function askAndWait(path: string, accept: string): void {
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
  socket.pause().on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\naccept: ${accept}\r\n\r\n`);
  sockets.push(socket);
}

test('readers that read nothing of large results and streams keep the memory bounded, and others get theirs', async () => {
  const { id } = await api.run(endpoint, { bytes: OUTPUT_BYTES });
  expect((await api.ended(endpoint, id)).status).toBe('COMPLETED');
  const streaming = await api.run(endpoint, { stream: 30, echo: 'x'.repeat(2 ** 20) });
  expect((await api.ended(endpoint, streaming.id)).status).toBe('COMPLETED');
  const own = new Api({ url: server.url, key: neighbor.key });
  const large = await own.run(neighbor.endpointId, { bytes: 5 * 2 ** 20 });
  await own.ended(neighbor.endpointId, large.id);
  resetPeakRss(server.pid);
  for (let i = 0; i < READERS; i++) {
    askAndWait(`/v2/${endpoint}/status/${id}`, 'application/json');
    askAndWait(`/v2/${endpoint}/status-sync/${id}`, 'application/json');
    askAndWait(`/v2/${endpoint}/stream/${streaming.id}`, i % 2 === 0 ? 'text/event-stream' : 'application/json');
  }
  for (let i = 0; i < 3; i++) {
    const tookMs = await fairMs(async () => {
      const { output } = await own.status(neighbor.endpointId, large.id); // throws unless it is answered with 200
      expect((output as { data: string }).data).toHaveLength(5 * 2 ** 20);
    });
    expect(tookMs).toBeLessThan(8_000);
    await sleep(3_000);
  }
  console.log(`${3 * READERS} readers that do not read: peak RSS ${peakRssMb(server.pid).toFixed(0)} MB`);
  expect(peakRssMb(server.pid)).toBeLessThanOrEqual(MAX_RSS_MB);
  expect(server.isRunning).toBe(true);
  await neighbor.expectUnharmed('slow readers', 1_000); // few jobs in short time, and each large result takes a moment to read
});

/** A flood of one client of nginx, configured as the guide says, must not starve its other clients. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../chaos/external-postgres.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { Bystander, quantile } from './bystander.ts';
import { Flood } from './flood.ts';
import { peakRssMb, resetPeakRss } from './peak-rss.ts';
import { createTenant } from './tenant.ts';

const NGINX = '/usr/sbin/nginx';
const MEASURE_MS = 1_500;
/** Times as long as without the flood, at p99. */
const MAX_RATIO = process.env.CI ? 5 : 3;
/** Of less than this the machine's own noise is a multiple. */
const MIN_ALONE_MS = 6;
/** Times that a request waits for the machine: client, nginx, server, database, and back. */
const TURNS = 6;
const MAX_RSS_MB = 500;
const [HOSTILE, OTHER] = ['127.0.0.5', '127.0.0.6'];

let server: ServerProcess;
let nginx: { port: number; stop(): Promise<void> };
let bystander: Bystander;
let aloneMs: number;

/** Starts nginx with the configuration that Podyard ships, without its certificate. */
async function startNginx(podyardPort: number): Promise<typeof nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-nginx-'));
  const port = await freePort();
  const shipped = await readFile('deploy/proxies/nginx.conf', 'utf8');
  const http = shipped
    .replace('127.0.0.1:8080', `127.0.0.1:${podyardPort}`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '')
    .replace(/server_name .*;/, 'server_name _;');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder};`);
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; events { worker_connections 4096; }
     http { access_log off; ${temporary.join(' ')} ${http} }`,
  );
  const child = spawn(NGINX, ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'errors')], { stdio: 'ignore' });
  await until('nginx answers', () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    port,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(!existsSync(NGINX))('a client of nginx beside connections of refused requests', () => {
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime: 'simulated', env: { PODYARD_TRUSTED_PROXIES: '127.0.0.1,::1' } });
    nginx = await startNginx(Number(new URL(server.url).port));
    const { key } = await createTenant(server, 'bystander');
    const endpoint = await new Api({ url: server.url, key }).createEndpoint({ workers: { min: 0, max: 1 } });
    const url = `http://127.0.0.1:${nginx.port}/v2/${endpoint}/health`;
    bystander = new Bystander({ url, headers: { authorization: `Bearer ${key}` }, from: OTHER });
    await bystander.measure(500); // warms up
    aloneMs = quantile((await bystander.measure(2 * MEASURE_MS)).waits, 0.99);
  });
  afterAll(async () => {
    await bystander?.stop();
    await nginx?.stop();
    await server?.dispose();
  });

  test.each([
    [1, '/v2/none/nope'],
    [100, '/v2/none/nope'],
    [1, '/v2/pods'],
    [100, '/v2/pods'],
  ])('%i of %s', async (connections, path) => {
    resetPeakRss(server.pid);
    const request = `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
    const flood = await Flood.start({
      port: nginx.port,
      from: HOSTILE,
      request,
      connections,
      reads: true,
      renews: false,
    });
    const { waits, late, faults } = await bystander.measure(MEASURE_MS);
    const { answers } = flood.counts;
    await flood.stop();
    const p99 = quantile(waits, 0.99);
    const lateMs = quantile(late, 0.99);
    console.log(
      `${expect.getState().currentTestName}: ${waits.length} answers, p50 ${quantile(waits, 0.5).toFixed(1)} ms, ` +
        `p99 ${p99.toFixed(1)} ms (alone ${aloneMs.toFixed(1)} ms), timers late by ${lateMs.toFixed(1)} ms; ` +
        `the flood: ${answers} answers; peak RSS ${peakRssMb(server.pid).toFixed(0)} MB`,
    );
    expect(faults).toEqual([]);
    expect(p99).toBeLessThanOrEqual(MAX_RATIO * Math.max(aloneMs, MIN_ALONE_MS) + TURNS * lateMs);
    expect(peakRssMb(server.pid)).toBeLessThanOrEqual(MAX_RSS_MB);
  });
});

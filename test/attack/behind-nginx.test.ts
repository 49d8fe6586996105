/** A flood of one client of nginx, configured as the guide says, must not starve its other clients. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';
import { expectUnharmed } from './beside-flood.ts';
import { Bystander, quantile } from './bystander.ts';
import { createTenant } from './tenant.ts';

const NGINX = '/usr/sbin/nginx';
const MEASURE_MS = 1_500;
/** Times that a request waits for the machine: client, nginx, server, database, and back. */
const TURNS = 6;
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
  ])('%i of %s', (connections, path) => {
    const scene = { serverPid: server.pid, bystander, aloneMs, turns: TURNS, measureMs: MEASURE_MS };
    const request = `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
    const task = { port: nginx.port, from: HOSTILE, request, connections, reads: true, renews: false };
    return expectUnharmed(scene, () => task);
  });
});

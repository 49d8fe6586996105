import { request } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { Api, until } from './api.ts';
import { ServerProcess, type TestedRuntime } from './server-process.ts';

/** Echoes requests and upgrades on a public port, and serves another port on its loopback address only. */
const PROGRAM = `
const { createServer } = require('node:http');
const server = createServer(async (req, res) => {
  let body = '';
  for await (const chunk of req) body += chunk;
  res.end(JSON.stringify({ pod: process.env.RUNPOD_POD_ID, method: req.method, url: req.url, headers: req.headers, body }));
});
server.on('upgrade', (req, socket) => {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n');
  socket.pipe(socket);
});
server.listen(Number(process.env.WEB_PORT), '0.0.0.0');
createServer((req, res) => res.end('private')).listen(Number(process.env.OWN_PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
`;

interface Answer {
  status: number;
  contentType: string | undefined;
  body: string;
}

/** Pods on a real server, reached under their names on its public listener. */
export function proxyTests(runtime: TestedRuntime): void {
  let server: ServerProcess;
  let api: Api;
  let id: string;
  let web: number;
  let own: number;
  let unused: number;
  let hidden: number;

  beforeAll(async () => {
    server = await ServerProcess.start({ runtime });
    api = new Api(server);
    [web, own, unused, hidden] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
    const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
      name: 'e2e',
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['node', '-e', PROGRAM] }),
      ports: [`${web}/http`, `${own}/http`, `${unused}/http`, `${hidden}/tcp`],
      env: { WEB_PORT: String(web), OWN_PORT: String(own) },
      gpu: { id: 'NVIDIA GeForce RTX 4090' },
    });
    id = pod.id;
    await until('the pod answers', async () => (await ask(`${id}-${web}.localhost`)).status === 200, 90_000);
  }, 150_000);
  afterAll(() => server?.dispose());

  /** Sends a request with this Host header to the public listener. */
  const ask = (host: string, options: { method?: string; path?: string; headers?: object; body?: string } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const { method = 'GET', path = '/', headers = {}, body } = options;
      const { hostname, port } = new URL(server.url);
      const req = request({ hostname, port, method, path, headers: { ...headers, host }, timeout: 30_000 }, (res) => {
        const contentType = res.headers['content-type'];
        text(res).then((all) => resolve({ status: res.statusCode!, contentType, body: all }), reject);
      });
      req.on('error', reject).on('timeout', () => req.destroy(new Error('no answer')));
      req.end(body);
    });

  test('any method, path and body reach the pod without a key, with the address of the client', async () => {
    const host = `${id}-${web}.localhost`;
    const { status, body } = await ask(host, {
      method: 'PATCH',
      path: '/v2/serverless?a=%20b',
      headers: { authorization: 'Bearer of the pod', 'x-forwarded-for': '1.2.3.4' },
      body: 'hello',
    });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      pod: id,
      method: 'PATCH',
      url: '/v2/serverless?a=%20b',
      body: 'hello',
      headers: { host, authorization: 'Bearer of the pod', 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': host },
    });
  });

  test('an upgrade connects client and pod', async () => {
    const { hostname, port } = new URL(server.url);
    const headers = { host: `${id}-${web}.localhost`, connection: 'Upgrade', upgrade: 'echo' };
    const req = request({ hostname, port, headers, timeout: 30_000 }).end();
    const echoed = await new Promise<string>((resolve, reject) => {
      req.once('upgrade', (_res, socket) => {
        socket.once('data', (piece: Buffer) => {
          resolve(String(piece));
          socket.destroy();
        });
        socket.write('to and fro');
      });
      req.once('error', reject).once('response', (res) => reject(new Error(`answered ${res.statusCode}`)));
    });
    expect(echoed).toBe('to and fro');
  });

  test('pods that do not exist, do not run or expose no such HTTP port get the same 404, as a page or a problem record', async () => {
    const missing = await ask(`nosuchpod00000-${web}.localhost`);
    expect(missing).toMatchObject({ status: 404, contentType: 'application/problem+json' });
    for (const host of [`${id}-${hidden}.localhost`, `${id}-1.localhost`, `${id.toUpperCase()}-22.LOCALHOST.`]) {
      expect(await ask(host)).toEqual(missing);
    }
    const page = await ask(`${id}-1.localhost`, { headers: { accept: 'text/html,*/*' } });
    expect(page).toMatchObject({ status: 404, contentType: 'text/html; charset=utf-8' });
    expect(page).toEqual(await ask(`nosuchpod00000-${web}.localhost`, { headers: { accept: 'text/html,*/*' } }));
    expect((await ask(`x.${id}-${web}.localhost`)).status).toBe(404);
  });

  test('a port without a listener gets a 502 that says how a server must listen', async () => {
    for (const port of runtime === 'docker' ? [unused, own] : [unused]) {
      const { status, body } = await ask(`${id}-${port}.localhost`);
      expect(status).toBe(502);
      expect(JSON.parse(body).detail).toContain('bind to all interfaces (0.0.0.0)');
    }
  });

  test("no program of this machine is reachable under a pod's name", async () => {
    let visits = 0;
    const stranger = createServer((socket) => {
      visits += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => stranger.listen(unused, '0.0.0.0', resolve));
    try {
      expect((await ask(`${id}-${unused}.localhost`)).status).toBe(502);
      expect(visits).toBe(0);
    } finally {
      stranger.close();
    }
  });

  test('a stopped pod gets a 404, and returns under the same name', async () => {
    const host = `${id}-${web}.localhost`;
    await api.call('POST', `/v2/pods/${id}/action`, { action: 'stop' });
    expect(await ask(host)).toEqual(await ask(`nosuchpod00000-${web}.localhost`));
    await api.call('POST', `/v2/pods/${id}/action`, { action: 'start' });
    await until('the pod answers again', async () => (await ask(host)).status === 200, 90_000);
    await api.call('DELETE', `/v2/pods/${id}`);
    expect((await ask(host)).status).toBe(404);
  });
}

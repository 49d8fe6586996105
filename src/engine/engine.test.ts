import { afterEach, expect, test } from 'vitest';
import { startFakeEngine } from '../../test/fake-engine.ts';
import { silentLogger } from '../core/logger.ts';
import { createDockerRuntime } from '../runtimes/docker/docker-runtime.ts';
import { Engine } from './engine.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function fake(answer: Parameters<typeof startFakeEngine>[0]): Promise<string> {
  const engine = await startFakeEngine(answer);
  closers.push(engine.close);
  return engine.socketPath;
}

function runtimeAt(socketPath: string) {
  const runtime = createDockerRuntime({ socketPath, installation: 'i', gpus: new Map(), logger: silentLogger });
  closers.push(() => runtime.close());
  return runtime;
}

test('a request to an engine that never answers times out', async () => {
  const engine = new Engine(await fake(() => {}));
  closers.push(() => engine.close());
  const request = engine.json({ method: 'GET', path: '/info', timeoutMs: 50 });
  await expect(request).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/did not answer within 0.05 s/),
  });
});

test('a response that never ends times out as well', async () => {
  const engine = new Engine(await fake((_, response) => void response.writeHead(200).write('{')));
  closers.push(() => engine.close());
  await expect(engine.json({ method: 'GET', path: '/info', timeoutMs: 200 })).rejects.toMatchObject({
    kind: 'unavailable',
  });
});

test.each([
  ['/images/json', 404, 'locating image with ID "fa1d": image not known'],
  ['/containers/json', 500, 'container 0f does not exist in database: no such container'],
] as const)(
  'a list of %s is asked for again while what it has is removed; another refusal is final',
  async (path, status, message) => {
    const refusals = [message, message, 'out of memory'];
    const socketPath = await fake((_, response) => {
      const refusal = refusals.shift();
      response.writeHead(refusal ? status : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(refusal ? { message: refusal } : [{ Id: 'a' }]));
    });
    const engine = new Engine(socketPath);
    closers.push(() => engine.close());
    await expect(engine.list(path, {})).rejects.toThrow('out of memory');
    expect(await engine.list(path, {})).toEqual([{ Id: 'a' }]);
  },
);

test('a missing engine is one sentence', async () => {
  const runtime = runtimeAt('/no/such/engine.sock');
  await expect(runtime.list()).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/cannot be reached/),
  });
});

test('watch survives a restart of the engine', async () => {
  let connections = 0;
  const event = JSON.stringify({ Actor: { Attributes: { 'podyard.id': 'w1' } } });
  const socketPath = await fake((_, response) => {
    connections += 1;
    response.writeHead(200).write(`${event}\n`);
    setImmediate(() => response.destroy());
  });
  const runtime = runtimeAt(socketPath);
  const reported: string[] = [];
  await new Promise<void>((resolve) => {
    const unwatch = runtime.watch((id) => {
      reported.push(id);
      if (connections < 3) return;
      unwatch();
      resolve();
    });
  });
  expect(new Set(reported)).toEqual(new Set(['w1']));
});

test('a pull reports its progress, sends the credentials, and fails with a sentence when the engine finds out late', async () => {
  const seen: { url: string; auth: unknown }[] = [];
  const socketPath = await fake((request, response) => {
    const isPulled = seen.length > 0 && request.url!.includes('good');
    if (request.method === 'GET' && isPulled) return void response.end('{"Id":"sha256:0"}');
    if (request.method === 'GET') return void response.writeHead(404).end('{"message":"no such image"}');
    const auth = request.headers['x-registry-auth'];
    if (auth !== undefined) expect(String(auth)).toMatch(/^(?:[\w-]{4})*(?:[\w-]{2}==|[\w-]{3}=)?$/); // Docker refuses it without padding
    seen.push({ url: request.url!, auth: auth && JSON.parse(Buffer.from(String(auth), 'base64url').toString()) });
    const last = request.url!.includes('bad')
      ? { error: 'unauthorized: authentication required' }
      : { status: 'Status: Downloaded' };
    response.end(`${JSON.stringify({ status: 'Pulling fs layer', id: 'a' })}\r\n${JSON.stringify(last)}\r\n`);
  });
  const runtime = runtimeAt(socketPath);
  const auth = { username: 'u', password: 'p' };
  const lines: string[] = [];
  await Promise.all(
    [1, 2].map(() => runtime.prepare('reg.example/good', { auth, onProgress: (line) => lines.push(line) })),
  );
  expect(seen).toEqual([
    { url: '/images/create?fromImage=reg.example%2Fgood%3Alatest', auth: { ...auth, serveraddress: 'reg.example' } },
  ]);
  expect(lines[0]).toBe('Pulling image reg.example/good');
  expect(lines.at(-1)).toMatch(/^Pulled image reg\.example\/good in /);
  await expect(runtime.prepare('reg.example/bad:v1', { auth })).rejects.toThrow('refused the credentials');
  await expect(runtime.prepare('reg.example/bad:v1')).rejects.toThrow('needs registry credentials');
});

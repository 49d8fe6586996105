import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { FakeApiServer, send } from '../../../../test/fake-api-server.ts';
import { ApiServer } from './api-server.ts';
import { openAccess } from './cluster-access.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(answer: FakeApiServer['answer']): Promise<FakeApiServer> {
  const fake = await FakeApiServer.start(answer);
  closing.push(() => fake.close());
  return fake;
}

const REQUEST = { method: 'GET', path: '/api/v1/pods' } as const;

test('a refusal has the server’s status, reason and message', async () => {
  const { api } = await serve((_, response) =>
    send(response, { reason: 'NotFound', message: 'pods "a" not found' }, 404),
  );
  await expect(api.json(REQUEST)).rejects.toMatchObject({
    status: 404,
    reason: 'NotFound',
    message: 'pods "a" not found',
  });
});

test('a failing server counts as unavailable', async () => {
  const { api } = await serve((_, response) => send(response, { message: 'etcdserver: no leader' }, 500));
  await expect(api.json(REQUEST)).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'The Kubernetes API server failed: etcdserver: no leader',
  });
});

test('a busy server is retried when it asks for it', async () => {
  let asked = 0;
  const { api } = await serve((_, response) => {
    asked += 1;
    if (asked < 3) response.writeHead(429, { 'retry-after': '0' }).end('{}');
    else send(response, { fine: true });
  });
  expect(await api.json(REQUEST)).toEqual({ fine: true });
  expect(asked).toBe(3);
});

test.each([
  ['that never answers', () => {}],
  [
    'that never ends its response',
    (response: Parameters<FakeApiServer['answer']>[1]) => response.writeHead(200).write('{'),
  ],
])('a request to a server %s times out', async (_, behave) => {
  const { api } = await serve((_, response) => void behave(response));
  await expect(api.json({ ...REQUEST, timeoutMs: 50 })).rejects.toMatchObject({ kind: 'unavailable' });
});

test('an unreachable server is one sentence', async () => {
  const fake = await serve(() => {});
  await fake.vanish();
  await expect(fake.api.json(REQUEST)).rejects.toThrow(/^The Kubernetes API server does not answer: .*ECONNREFUSED/);
});

test('after a 401 the credentials are read again, once', async () => {
  const { port, requests } = await serve((_, response) => send(response, { reason: 'Unauthorized' }, 401));
  let forgotten = 0;
  const access = openAccess(`http://127.0.0.1:${port}`);
  const forget = () => {
    forgotten += 1;
  };
  const api = new ApiServer(async () => ({ ...access, forget }));
  closing.push(() => api.close());
  await expect(api.json(REQUEST)).rejects.toMatchObject({ status: 401 });
  expect([forgotten, requests.length]).toEqual([1, 2]);
});

test('an idle connection that the server closed fails no request', async () => {
  let taken = 0;
  const server = createServer((socket: Socket) => {
    let isFirst = true;
    socket.on('error', () => {});
    socket.on('data', () => {
      taken += 1;
      if (!isFirst) return socket.resetAndDestroy();
      isFirst = false;
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const api = new ApiServer(async () => openAccess(`http://127.0.0.1:${port}`));
  closing.push(async () => {
    await api.close();
    server.close();
  });
  expect(await api.json(REQUEST)).toEqual({});
  expect(await api.json(REQUEST)).toEqual({});
  expect(taken).toBe(3);
});

test('each request has its whole timeout, however long it waits for a connection', async () => {
  const { api } = await serve((_, response) => void setTimeout(() => send(response, {}), 100));
  const requests = Array.from({ length: 400 }, () => api.json({ ...REQUEST, timeoutMs: 500 }));
  await expect(Promise.all(requests)).resolves.toHaveLength(400);
});

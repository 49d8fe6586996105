import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { httpGet } from './http-get.ts';

let ended = 0;
const origin = createServer((req, res) => {
  if (req.url === '/file') return void res.end('content');
  if (req.url === '/other') return void res.writeHead(101, { connection: 'upgrade', upgrade: 'other' }).end();
  res.writeHead(302, { location: '/file' });
  const send = () => {
    while (!res.destroyed && res.write(Buffer.alloc(65_536)));
  };
  res.on('drain', send).on('close', () => ended++);
  send();
});
beforeAll(() => once(origin.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => origin.close());

const get = (path: string, signal: AbortSignal) => {
  const url = new URL(`http://127.0.0.1:${(origin.address() as AddressInfo).port}${path}`);
  return httpGet(url, { headers: {}, access: null, reach: null, signal });
};

test('of a redirect whose answer never ends no more is read, while what it led to is', async () => {
  const stop = new AbortController();
  const { response } = await get('/elsewhere', stop.signal);
  try {
    await expect.poll(() => ended).toBe(1);
    expect(await response.setEncoding('utf8').toArray()).toEqual(['content']);
  } finally {
    stop.abort();
  }
});

test('an origin that changes the protocol is refused', async () => {
  const changed = get('/other', new AbortController().signal);
  await expect(changed).rejects.toThrow('it changed the protocol without being asked');
});

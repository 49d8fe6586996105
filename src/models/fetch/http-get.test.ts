import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { httpGet } from './http-get.ts';

let ended = 0;
const origin = createServer((req, res) => {
  if (req.url === '/file') return void res.end('content');
  res.writeHead(302, { location: '/file' });
  const send = () => {
    while (!res.destroyed && res.write(Buffer.alloc(65_536)));
  };
  res.on('drain', send).on('close', () => ended++);
  send();
});
afterEach(() => origin.close());

test('of a redirect whose answer never ends no more is read, while what it led to is', async () => {
  await once(origin.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`http://127.0.0.1:${(origin.address() as AddressInfo).port}/elsewhere`);
  const stop = new AbortController();
  const { response } = await httpGet(url, { headers: {}, access: null, reach: null, signal: stop.signal });
  try {
    await expect.poll(() => ended).toBe(1);
    expect(await response.setEncoding('utf8').toArray()).toEqual(['content']);
  } finally {
    stop.abort();
  }
});

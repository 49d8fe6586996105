import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { silentLogger } from '../core/logger.ts';
import { LazyApp, type LoadedApp } from './lazy-app.ts';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function serve(load: () => Promise<LoadedApp>): Promise<{ app: LazyApp; url: string }> {
  const app = new LazyApp({ name: 'the test app', load, logger: silentLogger });
  const server = createServer((req, res) => app.handle(req, res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(server);
  return { app, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const loaded = (close = async () => {}): LoadedApp => ({ routing: (_req, res) => void res.end('hello'), close });

test('an app is loaded once, at the first request, also when many come at once', async () => {
  const load = vi.fn(async () => loaded());
  const { url } = await serve(load);
  expect(load).not.toHaveBeenCalled();
  const texts = await Promise.all(Array.from({ length: 5 }, async () => (await fetch(url)).text()));
  expect(new Set(texts)).toEqual(new Set(['hello']));
  expect(load).toHaveBeenCalledTimes(1);
});

test('an app that cannot be loaded answers with 503 and Retry-After, and the next request tries again', async () => {
  const load = vi.fn(async () => loaded());
  load.mockRejectedValueOnce(new Error('EMFILE: /secret/path'));
  const { url } = await serve(load);
  const refused = await fetch(url);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  expect(await refused.json()).toMatchObject({ status: 503, detail: expect.stringContaining('try again') });
  expect(await (await fetch(url)).text()).toBe('hello');
});

test('a loaded app is closed; one that never was needs nothing', async () => {
  const close = vi.fn(async () => {});
  const { app } = await serve(async () => loaded(close));
  await app.close();
  expect(close).not.toHaveBeenCalled();
  await app.prepare();
  await app.close();
  expect(close).toHaveBeenCalledTimes(1);
});

import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

test('the reference needs no key, cannot be framed and runs only its own scripts', async () => {
  const page = await rest.call('GET', '/docs/api');
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  const policy = page.headers['content-security-policy'];
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
});

test('the page links to no other host; its assets exist, compressed or not, and are cacheable', async () => {
  const { body } = await rest.call('GET', '/docs/api');
  expect(body).not.toMatch(/(https?:)?\/\/[\w.]+/);
  const addresses = [...body.matchAll(/(?:src|href)="(api[^"]+)"/g)].map((match) => `/docs/${match[1]}`);
  expect(addresses).toHaveLength(3);
  for (const address of addresses) {
    const plain = await rest.call('GET', address);
    expect(plain.statusCode).toBe(200);
    expect(plain.headers['content-type']).toMatch(/^text\/(css|javascript); charset=utf-8$/);
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(plain.headers['x-content-type-options']).toBe('nosniff');
    const packed = await rest.call('GET', address, { headers: { 'accept-encoding': 'br, gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
  }
});

test('an asset is cacheable only at the URL with its hash; no other file is served', async () => {
  expect((await rest.call('GET', '/docs/api/assets/start.js?v=old')).headers['cache-control']).toBe('no-cache');
  for (const name of ['nosuch.js', 'index.html', '..%2Fpackage.json', '__proto__', 'start.js%00']) {
    expect((await rest.call('GET', `/docs/api/assets/${name}`)).statusCode).toBe(404);
  }
});

test('the page offers the description of each revision; of REST v1 where the server serves it', async () => {
  const { body } = await rest.call('GET', '/docs/api');
  for (const revision of ['2026-07', '2026-08']) {
    expect(body).toContain(`<a href="?version=${revision}" data-path="${revision}/v2">`);
    expect((await rest.call('GET', `/${revision}/v2/openapi.json`)).statusCode).toBe(200);
  }
  expect(body).toContain('<span hidden> · <a href="?version=v1"');
  const other = await startRestApp({ hasV1: true });
  try {
    const { body } = await other.call('GET', '/docs/api');
    expect(body).toContain('<span> · <a href="?version=v1" data-path="v1">REST v1</a></span>');
  } finally {
    await other.close();
  }
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildIfStale } from '../../../test/build-if-stale.ts';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  buildIfStale('console');
  rest = await startRestApp();
});
afterAll(() => rest.close());

describe('the console', () => {
  test('is a page that needs no key, with a strict policy and a fresh nonce', async () => {
    const [one, two] = [await rest.call('GET', '/'), await rest.call('GET', '/')];
    expect(one.statusCode).toBe(200);
    const nonce = /'nonce-([^']+)'/.exec(String(one.headers['content-security-policy']))![1]!;
    expect(one.body).toContain(`content="${nonce}"`);
    expect(two.body).not.toContain(nonce);
    expect(one.headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self' 'sha256-[\w+/]{43}=';/,
    );
    expect(one.headers['cache-control']).toBe('no-cache');
  });

  test('serves its files compressed and cacheable', async () => {
    const script = /assets\/(index-[\w-]+\.js)/.exec((await rest.call('GET', '/')).body)![1]!;
    const packed = await rest.call('GET', `/assets/${script}`, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(packed.headers).toMatchObject({
      'content-encoding': 'br',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
    });
    const plain = await rest.call('GET', `/assets/${script}`);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.rawPayload.length).toBeGreaterThan(packed.rawPayload.length);
  });
});

test.each(['index.html', '..%2Findex.html', '..%2f..%2f..%2fpackage.json', 'nothing.js', '%00.js'])(
  'no other file is served: %s',
  async (name) => {
    expect((await rest.call('GET', `/assets/${name}`)).statusCode).toBe(404);
  },
);

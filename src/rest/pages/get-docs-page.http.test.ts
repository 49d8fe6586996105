import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildIfStale } from '../../../test/build-if-stale.ts';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  buildIfStale('docs');
  rest = await startRestApp();
});
afterAll(() => rest.close());

test.each([
  ['start.md', 'start'],
  ['start/', '../start'],
  ['index.html', './'],
  ['guide/start.md', '../start'],
  ['docs/guide/index.md', '../../'],
  ['interface/README.md', '../interface'],
  ['interface-README', 'interface'],
  ['decisions/0001-node-version.md', '../decisions-0001-node-version'],
  ['api/', '../api'],
  ['no/such%0d%0apage', '../no-such%0D%0Apage'],
  ['//example.com', '../../--example.com'],
])('%s, as the repository or a habit names a page, leads to it', async (address, target) => {
  const answer = await rest.call('GET', `/docs/${address}`);
  expect([answer.statusCode, answer.headers.location]).toEqual([302, target]);
});

test('the documentation’s bare path redirects to its folder, under any public URL', async () => {
  const answer = await rest.call('GET', '/docs');
  expect([answer.statusCode, answer.headers.location]).toEqual([302, 'docs/']);
});

test('any name that is not a page is a 404 with a page that leads on', async () => {
  for (const name of ['nothing', 'nothing.html', '..%2fconsole%2findex', '__proto__', 'start%00', 'assets']) {
    expect((await rest.call('GET', `/docs/${name}`)).statusCode).toBe(404);
    const page = await rest.call('GET', `/docs/${name}`, { headers: { accept: 'text/html,*/*' } });
    expect([name, page.statusCode, page.headers['content-type']]).toEqual([name, 404, 'text/html; charset=utf-8']);
    expect(page.body).toContain('This page does not exist');
  }
  for (const name of ['nothing.js', '..%2Findex.html', '..%2f..%2f..%2fpackage.json', '%00.js']) {
    expect((await rest.call('GET', `/docs/assets/${name}`)).statusCode).toBe(404);
  }
});

describe('the built documentation', () => {
  test('needs no key, runs only its own script, and cannot be framed', async () => {
    for (const path of ['/docs/', '/docs/start']) {
      const page = await rest.call('GET', path);
      expect(page.statusCode).toBe(200);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.headers['content-security-policy']).toContain("default-src 'none'");
      expect(page.headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/);
      expect(page.body).not.toMatch(/<script>|<style|\sstyle=|\son\w+="/);
    }
  });

  test('files that a page names to copy come as they are, whatever is installed', async () => {
    const found: string[] = [];
    for (const page of ['domain', 'alerts', 'operations', 'interface']) {
      const { body } = await rest.call('GET', `/docs/${page}`);
      found.push(...[...body.matchAll(/href="(files\/[^"]+)"/g)].map((match) => match[1]!));
    }
    for (const name of [
      'Caddyfile',
      'nginx.conf',
      'alerts.yaml',
      'podyard-dashboard.json',
      'compose.yaml',
      'openapi.json',
    ])
      expect(found).toContain(`files/${name}`);
    for (const name of found) {
      const file = await rest.call('GET', `/docs/${name}`);
      expect([name, file.statusCode, file.headers['content-type']]).toEqual([name, 200, 'text/plain; charset=utf-8']);
    }
    const alerts = readFileSync(new URL('../../../deploy/helm/podyard/files/alerts.yaml', import.meta.url), 'utf8');
    expect((await rest.call('GET', '/docs/files/alerts.yaml')).body).toBe(alerts);
    for (const name of ['nothing', '..%2findex.html', '..%2f..%2fpackage.json'])
      expect((await rest.call('GET', `/docs/files/${name}`)).statusCode).toBe(404);
  });

  test('the schema of podyard.yaml, whose name stays, is asked for anew each time', async () => {
    const schema = await rest.call('GET', '/docs/assets/podyard-yaml.json');
    expect([schema.statusCode, schema.headers['cache-control']]).toEqual([200, 'no-cache']);
  });

  test('the assets of a page exist, compressed or not, and are cacheable', async () => {
    const { body } = await rest.call('GET', '/docs/scaling');
    const names = [...body.matchAll(/(?:src|href|data-index)="(assets\/[^"]+)"/g)].map((match) => match[1]!);
    expect(names.length).toBeGreaterThanOrEqual(4);
    for (const name of names) {
      const plain = await rest.call('GET', `/docs/${name}`);
      expect(plain.statusCode).toBe(200);
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      const packed = await rest.call('GET', `/docs/${name}`, { headers: { 'accept-encoding': 'gzip, br' } });
      expect(packed.headers['content-encoding']).toBe('br');
      expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length);
    }
  });
});

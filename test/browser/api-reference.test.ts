import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../rest-app.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, violationsOf } from './console-page.ts';

const IS_BUILT = existsSync(new URL('../../dist/docs/index.html', import.meta.url));

describe.skipIf(!hasBrowser || !IS_BUILT)('the API reference in a browser', () => {
  let rest: RestFixture;
  let server: Server;
  let browser: Browser;
  let base: string;
  const asked: string[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    rest = await startRestApp();
    // Like a proxy whose public URL has a path.
    server = createServer((request, response) => {
      request.url = request.url!.replace(/^\/cloud\//, '/');
      rest.handle(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/cloud`;
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    await rest?.close();
  });

  async function newPage(width = 1440, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
    const page = await openPage(browser, { width, colorScheme, complaints });
    page.on('request', (request) => asked.push(request.url()));
    return page;
  }

  test('it leads from an area to an operation, and sends it with a key', async () => {
    const page = await newPage();
    await page.goto(`${base}/docs/api`);
    for (const area of ['Templates', 'Network volumes', 'Registries', 'Catalog', 'Billing', 'Users', 'Teams']) {
      await page.getByRole('heading', { level: 2, name: area, exact: true }).waitFor();
    }
    await page.getByRole('main').getByRole('link', { name: 'List serverless endpoints' }).click();
    await page.waitForURL(`${base}/docs/api-serverless#listEndpoints`);
    const section = page.locator('section', { has: page.locator('#listEndpoints') });
    await section.getByText('Try it').click();
    const send = async (key: string) => {
      await section.getByLabel('API key').fill(key);
      await section.getByRole('button', { name: 'Send GET' }).click();
    };
    await send('pyk_no_such_key');
    await section.getByText('401 Unauthorized').waitFor();
    await send(rest.alice.key);
    await section.getByText(/^200 OK in \d+ ms\s+\{\s+"endpoints": \[\]/).waitFor();
    const other = page.locator('section', { has: page.locator('#getEndpoint') });
    await other.getByText('Try it').click();
    expect(await other.getByLabel('API key').inputValue()).toBe(rest.alice.key);
    await other.getByLabel('id', { exact: true }).fill('no/such');
    await other.getByRole('button', { name: 'Send GET' }).click();
    await other.getByText('404 Not Found').waitFor();
    expect(asked).toContain(`${base}/v2/serverless/no%2Fsuch`);
    await page.close();
  });

  test('each revision has pages of its own, which send to its paths', async () => {
    const page = await newPage();
    await page.goto(`${base}/docs/api-2026-08`);
    await page.getByRole('main').getByRole('link', { name: 'List the builds of an endpoint' }).click();
    await page.waitForURL(`${base}/docs/api-2026-08-serverless#listBuilds`);
    const section = page.locator('section', { has: page.locator('#listEndpoints') });
    expect(await section.locator('.call').textContent()).toContain('/2026-08/v2/serverless');
    await page.close();
  });

  test.each([
    ['light', 1440],
    ['dark', 390],
    ['light', 1024],
    ['dark', 2560],
  ] as const)('it is accessible and fits, %s at %i pixels', async (scheme, width) => {
    const page = await newPage(width, scheme);
    for (const slug of ['api', 'api-secrets', 'api-v1-pods']) {
      await page.goto(`${base}/docs/${slug}`);
      const form = page.getByText('Try it').first();
      if (slug !== 'api') await form.click();
      expect([slug, await violationsOf(page)]).toEqual([slug, []]);
      expect([slug, await page.evaluate('document.documentElement.scrollWidth > innerWidth')]).toEqual([slug, false]);
    }
    await page.close();
  });

  test('nothing is loaded from another host or blocked by the policy', () => {
    expect(asked.filter((url) => !url.startsWith(`${base}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints.filter((text) => !/status of 40[14]/.test(text))).toEqual([]);
  });
});

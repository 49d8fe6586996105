import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../rest-app.ts';
import { hasBrowser, launchBrowser } from './browser.ts';

describe.skipIf(!hasBrowser)('in a browser', () => {
  let rest: RestFixture;
  let server: Server;
  let browser: Browser;
  let base: string;
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

  test('the reference shows every area, sends a request with a key, and loads nothing from other hosts', async () => {
    const page = await browser.newPage();
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${base}/docs/api`);
    const row = page.locator('#operations-serverless-listEndpoints');
    await page.locator('#operations-tag-serverless').click();
    await row.waitFor();
    for (const tag of ['templates', 'network-volumes', 'registries', 'catalog', 'billing', 'podyard']) {
      await page.locator(`#operations-tag-${tag}`).waitFor();
    }
    await page.locator('#operations-tag-podyard').click();
    await page.locator('#operations-podyard-createUser').waitFor(); // the largest area opens to its end
    await page.locator('#operations-tag-podyard').click();
    await page.locator('button.authorize').first().click();
    await page.locator('.modal-ux input').fill(rest.alice.key);
    await page.locator('.modal-ux button.authorize').click();
    await page.locator('.modal-ux button.btn-done').click();
    await row.locator('button').first().click();
    await row.locator('button.try-out__btn').click();
    await row.locator('button.execute').click();
    const answer = row.locator('.live-responses-table .response');
    await answer.waitFor();
    expect(await answer.textContent()).toContain('200');
    await page.goto(`${base}/docs/api?version=2026-08`);
    await page.locator('nav a[aria-current="page"]', { hasText: 'revision 2026-08' }).waitFor();
    await page.locator('#operations-tag-serverless').click();
    await page.locator('#operations-serverless-listBuilds').waitFor();
    expect(await page.locator('.servers').textContent()).toContain('/cloud/2026-08');
    expect(asked.filter((url) => !url.startsWith(`${base}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

/** The audit log in the console: diffs in words, details, and filters that a link keeps. */
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

const SCREENSHOTS = fileURLToPath(new URL('../../test-results/console/', import.meta.url));

describe.skipIf(!hasBrowser)('the audit log in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let ids: { endpoint: string; ben: string };
  const complaints: string[] = [];

  beforeAll(async () => {
    await mkdir(SCREENSHOTS, { recursive: true });
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    const api = new Api(server);
    const ben = await api.call<{ userId: string; key: { secret: string } }>('POST', '/v2/account/users', {
      name: 'Ben',
    });
    const bens = new Api({ url: server.url, key: ben.key.secret });
    const endpoint = await bens.createEndpoint({ name: 'of-ben' });
    await bens.call('PATCH', `/v2/serverless/${endpoint}`, { workers: { max: 7 } });
    await api.createEndpoint({ name: 'of-admin' });
    ids = { endpoint, ben: ben.userId };
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  const rows = (page: Page) => page.locator('[data-row]');
  async function opened(colorScheme: 'light' | 'dark', width: number): Promise<Page> {
    const page = await openPage(browser, { width, colorScheme, complaints });
    await signIn(page, { url: server.url, key: server.key });
    await page.goto(`${server.url}/#/audit`);
    await rows(page).first().waitFor();
    return page;
  }

  test.for([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'shows what changed, narrows to a person and to a record, and a link leads to the same: %s, %i px',
    async ([scheme, width]) => {
      const page = await opened(scheme, width);
      const dialog = page.getByRole('dialog');
      const details = rows(page).getByRole('button', { name: /workers\.max: \d+ → 7/ });
      await details.waitFor();
      expect(await violationsOf(page)).toEqual([]);
      await details.click();
      await dialog.getByText('Ben, key', { exact: false }).waitFor();
      await expect.poll(() => violationsOf(page)).toEqual([]);
      await page.screenshot({ path: `${SCREENSHOTS}audit-${scheme}-${width}.png` });

      await dialog.getByRole('button', { name: 'All by Ben' }).click();
      await expect.poll(() => page.url()).toContain(`actorId=${ids.ben}`);
      await page.getByText('of-admin').first().waitFor({ state: 'detached' });
      await rows(page).filter({ hasText: 'of-ben' }).first().waitFor();
      const link = page.url();

      await details.click();
      await dialog.getByRole('button', { name: 'All of this record' }).click();
      await expect.poll(() => page.getByLabel('Record id').inputValue()).toBe(ids.endpoint);
      await page.goto(link);
      await expect.poll(() => page.getByLabel('User id').inputValue()).toBe(ids.ben);
      await page.getByLabel('User id').fill('nobody');
      await page.getByText('No entry matches these filters.').waitFor();
      await page.close();
    },
  );
});

/** The page on costs and budgets, on simulated workers and with costs that are written into the database. */
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

/** Screenshots for people to look at; git ignores them. */
const SCREENSHOTS = fileURLToPath(new URL('../../test-results/billing/', import.meta.url));

describe.skipIf(!hasBrowser)('the page on costs', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let endpointId: string;

  beforeAll(async () => {
    await mkdir(SCREENSHOTS, { recursive: true });
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    endpointId = await new Api(server).createEndpoint({ name: 'transcriber', workers: { min: 0, max: 1 } });
    browser = await launchBrowser();
    page = await signedIn();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
  });

  async function signedIn(colorScheme: 'light' | 'dark' = 'light', width = 1280): Promise<Page> {
    const opened = await openPage(browser, { width, height: 1000, colorScheme });
    await signIn(opened, server);
    return opened;
  }

  async function show(on: Page, name: string): Promise<void> {
    await on.screenshot({ path: `${SCREENSHOTS}${name}.png`, fullPage: true });
    expect(await violationsOf(on)).toEqual([]);
  }

  /** Ten days of two endpoints, one of them deleted, a pod and a volume. */
  async function insertCosts(): Promise<void> {
    await database.pool.query(
      `insert into usage_days
       select u.id, (now() at time zone 'UTC')::date - n, r.kind, resource, r.name, 3600, 0, 72000, gpu * (1 + n % 3), 0, storage
       from users u, generate_series(0, 9) n, (values
         ('SERVERLESS', $1, 'transcriber', 4.2, 0.3), ('SERVERLESS', 'gone', 'old-llm', 1.1, 0.1),
         ('POD', 'pod1', 'notebook', 2.5, 0.2), ('NETWORK_VOLUME', 'vol1', 'models', 0, 0.7)
       ) r (kind, resource, name, gpu, storage)`,
      [endpointId],
    );
  }

  test('without costs it says what will be there; with them it shows who spent what, and the address keeps the view', async () => {
    await page.goto(`${server.url}/#/billing`);
    await page.getByText('Nothing cost anything in this period').waitFor();
    await page.getByText('A forecast needs 3 full days').waitFor();
    await show(page, 'empty-light');
    await insertCosts();
    await page.reload();
    const table = page.getByRole('table', { name: 'Cost by group' });
    await table.getByText('Volumes').waitFor();
    await page.getByText('average of the last 7 full days').waitFor();
    await page.getByText('Endpoint', { exact: true }).click();
    await table.getByRole('link', { name: 'transcriber' }).waitFor();
    await table.getByText('old-llm').waitFor();
    await table.getByText('deleted').waitFor();
    await page.locator('.recharts-bar-rectangle').first().waitFor();
    expect(page.url()).toContain('by=endpoint');
    await page.reload();
    await table.getByRole('link', { name: 'transcriber' }).waitFor();
    await show(page, 'endpoints-light');
  });

  test('the export is a file with the name of its days', async () => {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^podyard-costs-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
    const lines = (await readFile((await file.path())!, 'utf8')).trimEnd().split('\r\n');
    expect(lines).toHaveLength(21); // two endpoints on ten days
    expect(lines[1]).toContain('SERVERLESS');
  });

  test('a budget that is used up shows as stopped and as a banner, and raising it takes both away', async () => {
    await page.getByText('No budgets.').waitFor();
    await page.getByRole('button', { name: 'New budget' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount').fill('much');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText(/is not in the right form/).waitFor();
    await dialog.getByLabel('Amount').fill('0.01');
    await dialog.getByRole('switch').check();
    await page.screenshot({ path: `${SCREENSHOTS}form-light.png` });
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText(/^Stopped until/).waitFor();
    const banner = page.getByRole('status').getByText(/The monthly budget, \$0\.01, is used up\./);
    await banner.waitFor();
    await show(page, 'stopped-light');
    for (const [scheme, width] of [
      ['dark', 1280],
      ['light', 390],
    ] as const) {
      const other = await signedIn(scheme, width);
      await other.goto(`${server.url}/#/billing?by=endpoint`);
      await other.getByRole('table', { name: 'Cost by group' }).waitFor();
      await other.getByText(/^Stopped until/).waitFor();
      await other.locator('.recharts-bar-rectangle').first().waitFor();
      await show(other, `stopped-${scheme}-${width}`);
      const overflow = await other.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow).toBeLessThanOrEqual(0);
      await other.close();
    }
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Amount').fill('100000');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await banner.waitFor({ state: 'detached' });
    await page.getByText(/^Stopped until/).waitFor({ state: 'detached' });
  });
});

/** A day with the console: deploy, break it, find out why within three clicks, mend, roll out, watch, export the cost. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn } from './console-page.ts';

const ERROR = 'RuntimeError: CUDA out of memory';

describe.skipIf(!hasBrowser)('a day with the console', { timeout: 120_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let home: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'podyard-day-'));
    const broken = { command: ['sh', '-c', `echo '${ERROR}' >&2; exit 1`], directory: home };
    await writeFile(join(home, 'images.json'), JSON.stringify({ 'shop/model:broken': broken }));
    database = await createTestDatabase();
    const env = { PODYARD_IMAGES_FILES: join(home, 'images.json') };
    server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env });
    browser = await launchBrowser();
    page = await openPage(browser);
    await signIn(page, server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    await rm(home, { recursive: true, force: true });
  });

  const menu = () => page.getByRole('navigation', { name: 'Main' });

  test('deploy, and run a job', async () => {
    await page.goto(`${server.url}/#/endpoints/new`);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('shop');
    await page.getByRole('textbox', { name: 'Image' }).fill('podyard/echo-js:dev');
    await page.getByRole('combobox', { name: 'GPU pools' }).click();
    await page.getByRole('option', { name: /^ADA_24/ }).click();
    await page.keyboard.press('Escape');
    await page.getByLabel('Min workers').fill('1');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor();
    await openTab(page, 'Requests');
    await page.getByRole('textbox', { name: 'Input' }).fill('{"echo": "good morning"}');
    await page.getByRole('button', { name: 'Run job' }).click();
    await page.getByText('"good morning"', { exact: true }).waitFor();
  });

  test('break it, and find out why within three clicks from the overview', async () => {
    await openTab(page, 'Settings');
    await page.getByRole('textbox', { name: 'Image' }).fill('shop/model:broken');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').waitFor();
    await menu().getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await menu().getByRole('link', { name: 'Endpoints' }).click(); // 1
    await page.getByRole('heading', { name: 'Endpoints', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'shop', exact: true }).click(); // 2
    await page.getByText(ERROR).first().waitFor();
  });

  test('mend it: the next release gets through', async () => {
    await openTab(page, 'Settings');
    await page.getByRole('textbox', { name: 'Image' }).fill('podyard/echo-js:v2');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await openTab(page, 'Releases');
    await page.getByText('shop/model:broken → podyard/echo-js:v2').waitFor();
    await page.getByText('1 of 1 workers on version 3.').waitFor();
  });

  test('watch: the jobs of the day are there, and why workers came and went', async () => {
    await openTab(page, 'Requests', 'Jobs');
    await page.getByRole('cell', { name: 'Completed' }).first().waitFor();
    await openTab(page, 'Logs', 'Decisions');
    await page
      .getByText(/workers\.min/)
      .first()
      .waitFor();
  });

  test('export the cost of the day', async () => {
    await menu().getByRole('link', { name: 'Billing' }).click();
    await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor();
    const csv = await until(
      'the minute is metered',
      async () => {
        const download = page.waitForEvent('download');
        await page
          .getByRole('button', { name: /export|csv/i })
          .first()
          .click();
        const text = await readFile(await (await download).path(), 'utf8');
        return text.includes('shop') ? text : undefined;
      },
      90_000,
    );
    expect(csv.split('\n')[0]).toContain('total_usd');
  });
});

/** The past on an endpoint's page, and its schedule. On simulated workers: nothing here needs a real one. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('the page of an endpoint', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let id: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    const api = new Api(server);
    id = await api.createEndpoint({ workers: { min: 0, max: 0 } });
    for (let n = 0; n < 60; n++) {
      await api.call('POST', `/v2/${id}/run`, { input: n });
      if (n === 29) await api.call('POST', `/v2/${id}/purge-queue`);
    }
    await database.pool.query(
      `insert into history (kind, subject, span, starts_at, completed, workers_idle, waits)
       select 'ENDPOINT', $1, 'minute', date_trunc('minute', now()) - n * interval '1 minute', n, 2, array[54::bigint << 32 | 4]
       from generate_series(1, 30) n on conflict do nothing`,
      [id],
    );
    browser = await launchBrowser();
    page = await openPage(browser, { complaints });
    await signIn(page, server);
    await page.goto(`${server.url}/#/endpoints/${id}/live`);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  test('charts go back an hour, a day, a week and a month', async () => {
    for (const [label, range] of [
      ['1 h', '1h'],
      ['24 h', '24h'],
      ['7 d', '7d'],
      ['30 d', '30d'],
    ]) {
      await page.getByText(label!, { exact: true }).click();
      await page.getByRole('img', { name: `Jobs ended over the last ${range}` }).waitFor();
    }
    await page.getByText('1 h', { exact: true }).click();
    await page.getByRole('button', { name: /^Show all \d+ charts$/ }).click();
    await page.getByRole('img', { name: 'Queue time over the last 1h' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByText('Live', { exact: true }).last().click();
    await page.getByRole('img', { name: 'Jobs queued and running over time' }).waitFor();
  });

  test('jobs are listed page by page, and by state', async () => {
    await openTab(page, 'Requests', 'Jobs');
    const rows = page.getByRole('region', { name: 'Jobs' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(51);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(61);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('combobox', { name: 'State' }).click();
    await page.getByRole('option', { name: 'Failed' }).click();
    await page.getByText('No jobs match.').waitFor();
  });

  test('a batch is run, shown with its progress, and cancelled', async () => {
    await openTab(page, 'Requests', 'Batches');
    await page.getByText('No batches').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const api = new Api(server);
    const body = { name: 'archive', requests: [{ input: 1 }, { input: 2 }, { x: 1 }] };
    await api.call('POST', `/v2/${id}/batch`, body);
    await page.reload();
    await page.getByRole('button', { name: 'archive' }).click();
    const drawer = page.getByRole('dialog');
    await drawer.getByText('Line 3: /input: is required.').waitFor();
    const bar = await drawer.locator('.mantine-Progress-root').boundingBox();
    expect(bar).toMatchObject({ height: expect.closeTo(8, 0), width: expect.toSatisfy((width) => width > 300) });
    await drawer.getByRole('button', { name: 'Run' }).click();
    await drawer.getByText('workers.max is 0, so nothing runs').waitFor();
    await drawer.getByRole('button', { name: 'Download results' }).waitFor();
    await drawer.getByRole('button', { name: 'Cancel batch' }).click();
    await drawer.getByRole('button', { name: 'Cancel it for good' }).click();
    await drawer.getByText('cancelled by its user').waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await page
      .getByRole('row', { name: /archive/ })
      .getByText('Cancelled')
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('a floor is added, refused with the reason, set and shown', async () => {
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Add floor' }).click();
    await page.getByLabel('End of floor 1').fill('8:00');
    await page.getByRole('button', { name: 'Set schedule' }).click();
    await page.getByRole('alert').getByText(/until/i).waitFor();
    await page.getByLabel('End of floor 1').fill('19:30');
    await page.getByRole('button', { name: 'Set schedule' }).click();
    await page.getByText('Schedule set.').waitFor();
    const summary = page.getByRole('region', { name: 'Summary of the schedule' });
    await summary.getByText(/^(no floor|1 worker), until /).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.reload();
    expect(await page.getByLabel('End of floor 1').inputValue()).toBe('19:30');
  });

  test('where nothing is built, the page of builds says why, and what to do', async () => {
    await page.goto(`${server.url}/#/builds`);
    await page.getByText('No images are built here').waitFor();
    await page.getByText('while its runtime is simulated: push one to a registry, and name it.').waitFor();
    await page.getByRole('link', { name: 'New endpoint' }).waitFor();
    const guide = await page.getByRole('link', { name: 'Where images are built' }).getAttribute('href');
    expect((await fetch(new URL(guide!, server.url))).status).toBe(200);
    expect(await violationsOf(page)).toEqual([]);
  });
});

/** The first visit of an empty installation: three steps to the first answer, here and in a terminal. Workers are processes. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('the first visit', { timeout: 300_000 }, () => {
  const complaints: string[] = [];
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  async function opened(colorScheme: 'light' | 'dark', width: number): Promise<Page> {
    const page = await openPage(browser, { colorScheme, width, complaints });
    await signIn(page, server);
    return page;
  }

  const current = (page: Page, title: string) => page.locator('[aria-current=step]').getByText(title, { exact: true });

  test('two clicks lead to the answer, which a page beside follows', async () => {
    const [page, beside] = await Promise.all([opened('light', 1280), opened('dark', 390)]);
    await current(page, 'Deploy an endpoint').waitFor();
    await current(beside, 'Deploy an endpoint').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await violationsOf(beside)).toEqual([]);
    await page.getByRole('button', { name: 'Deploy it' }).click();
    await current(page, 'Send it a job').waitFor();
    await current(beside, 'Send it a job').waitFor();
    await page.getByText(`podyard run first '{"echo": "hello"}'`).waitFor();
    await page.getByRole('button', { name: 'Send it' }).click();
    for (const one of [page, beside]) {
      await one.getByText('"hello"', { exact: true }).waitFor();
      await one.getByText('Completed', { exact: true }).waitFor();
      expect(await violationsOf(one)).toEqual([]);
    }
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Nothing needs attention.').waitFor();
    await beside.getByRole('link', { name: 'Open the endpoint' }).click();
    await beside.getByRole('heading', { name: 'first', level: 1 }).waitFor();
    const again = await opened('light', 1280);
    await again.getByText('Nothing needs attention.').waitFor(); // who comes later has no first steps
    expect(await again.getByText('Deploy your first endpoint').count()).toBe(0);
    await Promise.all([page.close(), beside.close(), again.close()]);
  });

  test('the page follows what is done in a terminal', async () => {
    const api = new Api(server);
    const { endpoints } = await api.call<{ endpoints: { id: string }[] }>('GET', '/v2/serverless');
    await Promise.all(endpoints.map(({ id }) => api.delete(id)));
    const page = await opened('dark', 1280);
    await current(page, 'Deploy an endpoint').waitFor();
    const id = await api.createEndpoint({ name: 'by hand', workers: { max: 1 } });
    await page.getByText(`podyard run ${id} '{"echo": "hello"}'`).waitFor(); // its name would need quotes
    await api.run(id, { echo: 'from a terminal' });
    await page.getByText('"from a terminal"', { exact: true }).waitFor();
    await page.close();
  });
});

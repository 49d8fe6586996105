/** The trial of a release in the console, with workers that are processes. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('the trial of a release', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let id: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
    id = await new Api(server).createEndpoint({ name: 'echo' });
    browser = await launchBrowser();
    page = await openPage(browser, { complaints });
    await signIn(page, server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  const save = async (args: string) => {
    await page.goto(`${server.url}/#/endpoints/${id}/settings`);
    await page.getByText('Advanced').click();
    await page.getByRole('textbox', { name: 'Arguments' }).fill(args);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').first().waitFor();
    await page.getByRole('tab', { name: 'Releases' }).click();
  };

  test('a release that no worker ran says so, and is tried with a click', async () => {
    await page.goto(`${server.url}/#/endpoints/${id}/releases`);
    await page.getByText('No worker has run version 1 yet.').waitFor();
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('1 of 1 workers on version 1.').waitFor();
    await page.getByRole('button', { name: 'Try it' }).waitFor({ state: 'detached' });
  });

  test('saved settings are tried; a failure shows the output, who serves, and a way back', async () => {
    await save(JSON.stringify({ entrypoint: ['python3', '-c', 'import no_such_model'] }));
    const failure = page
      .getByRole('alert')
      .filter({ hasText: 'Version 2 failed its trial. Version 1 goes on serving.' });
    await failure.getByText('it exited with code 1').waitFor();
    await failure.getByText("No module named 'no_such_model'").waitFor();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await page.getByText('Version 1 serves, 2 failed').waitFor();
    expect(await page.getByText('Replaces 1 worker').count()).toBe(0);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.getByText('1 of 1 workers on version 3.').waitFor();
    await failure.waitFor({ state: 'detached' });
  });
});

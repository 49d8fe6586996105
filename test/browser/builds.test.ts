/** Builds in the console, on the process runtime: one that fails, one that is watched, cancelled and repeated, and what uses it. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf, fileEntry, RECIPE } from '../build-requests.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn, violationsOf } from './console-page.ts';

interface Build {
  id: string;
  name: string;
  status: string;
  image: string | null;
}

const PROGRAM = 'print("hello")\n';

describe.skipIf(!hasBrowser)('builds in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let api: Api;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
    api = new Api(server);
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

  /** Queues a build that runs a command of the shell. */
  async function build(name: string, command: string): Promise<string> {
    const sent = await fetch(`${server.url}/v2/builds/files/${digestOf(PROGRAM)}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/octet-stream' },
      body: PROGRAM,
    });
    expect(sent.status).toBe(204);
    const recipe = { ...RECIPE, buildCommand: ['sh', '-c', command] };
    const body = { name, files: [fileEntry('main.py', PROGRAM)], recipe };
    return (await api.call<{ id: string }>('POST', '/v2/builds', body)).id;
  }

  /** A file that a build waits for. */
  const gate = () => join(server.dataDir, 'gate');
  /** Ends with the server's folder, too: a test that fails leaves no process. */
  const untilOpen = () => `until [ -e ${gate()} -o ! -d ${server.dataDir} ]; do sleep 0.1; done`;
  /** As when another tab is looked at: what is hidden follows nothing. */
  const show = (state: 'hidden' | 'visible') =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
  const main = () => page.getByRole('main');
  const log = () => page.getByRole('log');
  const status = () => main().locator('header').getByRole('status');
  const button = (name: string) => main().getByRole('button', { name, exact: true });
  const shoot = async (name: string, of = page) => {
    if (process.env.PODYARD_SHOTS) await of.screenshot({ path: `${process.env.PODYARD_SHOTS}/builds-${name}.png` });
  };
  const open = async (id: string) => {
    await page.goto(`${server.url}/#/builds/${id}`);
    await button(`Copy ID ${id}`).waitFor(); // not the page of the build before
    await log().locator('.log-line').first().waitFor();
  };

  test('without a build, the page says how to make one, with the command to copy', async () => {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Builds', exact: true }).click();
    await main().getByText('No builds yet').waitFor();
    await main().getByText('podyard deploy', { exact: true }).waitFor();
    await button('Copy the In the folder with your code:').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await shoot('empty');
  });

  test('of a build that failed, the line that says why is read first, and marked in the log', async () => {
    const id = await build('sorter', 'echo compiling; echo "sort.c:3: error: no header" >&2; echo giving up; exit 7');
    await open(id);
    const alert = main().getByRole('alert');
    await alert.getByText('failed with exit code 7.').waitFor();
    expect(await alert.locator('.mantine-Alert-title').textContent()).toBe('sort.c:3: error: no header');
    await alert.getByText('podyard deploy', { exact: true }).waitFor();
    await main().getByRole('region', { name: 'Steps' }).getByText('Failed', { exact: true }).waitFor();
    await expect.poll(() => log().locator('mark').allTextContents()).toContain('sort.c:3: error: no header');
    expect(await status().textContent()).toBe('Failed');
    expect(await violationsOf(page)).toEqual([]);
    await shoot('failed');
  });

  test('a build is watched: its steps count up, and lines come as they are printed, also those of meanwhile', async () => {
    const id = await build('echo', `echo begun; ${untilOpen()}; echo done`);
    await open(id);
    await log().getByText('begun', { exact: true }).waitFor();
    expect(await status().textContent()).toBe('Building');
    await main().getByText('Live', { exact: true }).waitFor();
    const took = main().getByRole('region', { name: 'Steps' }).locator('.figure').last();
    const before = await took.textContent();
    await expect.poll(() => took.textContent()).not.toBe(before);
    expect(await violationsOf(page)).toEqual([]);
    await shoot('live');
    const resumed = page.waitForRequest((request) => request.headers()['last-event-id'] !== undefined);
    await show('hidden');
    await writeFile(gate(), '');
    await until('it is built', async () => (await api.call<Build>('GET', `/v2/builds/${id}`)).status === 'COMPLETED');
    await show('visible');
    await resumed;
    await log().getByText('done', { exact: true }).waitFor();
    expect(await log().getByText('begun', { exact: true }).count()).toBe(1); // it went on where it was
    await expect.poll(() => status().textContent()).toBe('Completed');
    await main().getByText('Live', { exact: true }).waitFor({ state: 'detached' });
    await main().getByText('No endpoint has it.').waitFor();
  });

  test('a build is cancelled with a second click, and the same folder built again', async () => {
    await rm(gate());
    const id = await build('slow', `echo begun; ${untilOpen()}; echo done`);
    await open(id);
    await log().getByText('begun', { exact: true }).waitFor();
    await button('Cancel build').click();
    await button('Cancel it for good').click();
    await expect.poll(() => status().textContent()).toBe('Cancelled');
    await main().getByText('It was cancelled.').waitFor();
    await main().getByRole('region', { name: 'Steps' }).getByText('Stopped').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await shoot('cancelled');
    await writeFile(gate(), '');
    await button('Build again').click();
    await page.getByText('Queued as a new build.').waitFor();
    await main().getByRole('link', { name: 'The build before it' }).waitFor();
    await log().getByText('done', { exact: true }).waitFor();
    await expect.poll(() => status().textContent()).toBe('Completed');
  });

  test('an endpoint and its releases lead to their build, and a build to what uses it', async () => {
    const { builds } = await api.call<{ builds: Build[] }>('GET', '/v2/builds?name=slow');
    const { id, image } = builds.find((one) => one.status === 'COMPLETED')!;
    const endpointId = await api.createEndpoint({ name: 'sloth', image: image!, workers: { min: 0, max: 0 } });
    await page.goto(`${server.url}/#/endpoints/${endpointId}/releases`);
    await page.getByRole('link', { name: 'Its build' }).click();
    await main().getByText('Used by sloth: version 1, the latest').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await shoot('completed');
    await main().getByRole('link', { name: 'sloth', exact: true }).click();
    await openTab(page, 'Releases', 'Builds');
    const region = page.getByRole('region', { name: 'builds' });
    await region.getByRole('link', { name: 'slow', exact: true }).waitFor();
    await expect.poll(() => region.getByRole('row').count()).toBe(2); // with the header
    expect(await violationsOf(page)).toEqual([]);
    await shoot('tab');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to or do anything' }).fill(id);
    // Until the list has only what was asked for: before, it shows both builds of the name.
    await expect.poll(() => page.getByRole('option', { name: /slow.*Build/ }).count()).toBe(1);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/#/builds/${id}`);
  });

  test('an endpoint that is built from git says so, and takes settings from podyard.yaml when told to', async () => {
    const { endpoints } = await api.call<{ endpoints: { id: string; name: string }[] }>('GET', '/v2/serverless');
    const { id } = endpoints.find(({ name }) => name === 'sloth')!;
    const settings = { url: 'https://git.invalid/me/app', tags: 'v*', folder: 'services/a', pollSeconds: 300 };
    await api.call('PUT', `/v2/serverless/${id}/git-source`, { ...settings, build: { handler: 'app.py:run' } });
    const read = () => api.call<Record<string, unknown>>('GET', `/v2/serverless/${id}/git-source`);
    const before = await read();
    await page.goto(`${server.url}/#/endpoints/${id}/builds`); // was here before there was a repository
    await main().getByText('https://git.invalid/me/app, the highest tag of v*, folder services/a').waitFor();
    await main().getByText('Each commit sets the image alone.').waitFor();
    await button('Change…').click();
    const dialog = page.getByRole('dialog');
    const save = dialog.getByRole('button', { name: 'Save' });
    expect(await save.isDisabled()).toBe(true);
    await dialog.getByLabel('Each commit sets the endpoint as its podyard.yaml says').check();
    expect(await violationsOf(page)).toEqual([]);
    await shoot('git-settings');
    await save.click();
    await main().getByText('Each commit sets the image, and what its podyard.yaml says.').waitFor();
    const kept = ['url', 'branch', 'tags', 'folder', 'build', 'auth', 'pollSeconds', 'statuses'] as const;
    const after = await read();
    expect(after.applySettings).toBe(true);
    for (const member of kept) expect(after[member]).toEqual(before[member]);
    await api.call('DELETE', `/v2/serverless/${id}/git-source`);
  });

  test('the list is filtered by status, in the URL, and walked by keyboard', async () => {
    await page.goto(`${server.url}/#/builds`);
    const region = page.getByRole('region', { name: 'builds' });
    await region.getByRole('link', { name: 'sloth', exact: true }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await shoot('list');
    await main()
      .getByRole('group', { name: 'Status' })
      .getByRole('button', { name: /^Failed/ })
      .click();
    await expect.poll(() => region.getByRole('row').count()).toBe(2);
    expect(page.url()).toMatch(/status=FAILED$/);
    await page.reload();
    await region.getByRole('link', { name: 'sorter', exact: true }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'sorter', level: 1 }).waitFor();
  });

  test('a build that does not exist and a key without the scope are told as such', async () => {
    await page.goto(`${server.url}/#/builds/bnothere`);
    await main()
      .getByRole('alert')
      .getByText(/not found/i)
      .waitFor();
    const scopes = ['account:read', 'serverless:read', 'catalog:read'];
    const { secret } = await api.call<{ secret: string }>('POST', '/v2/account/api-keys', { name: 'reader', scopes });
    const other = await openPage(browser, { complaints });
    await signIn(other, { url: server.url, key: secret });
    await other.goto(`${server.url}/#/builds`);
    await other.getByText('Your API key may not read builds').waitFor();
    await other.getByText('It needs the scope builds:read.').waitFor();
    expect(await violationsOf(other)).toEqual([]);
    await shoot('refused', other);
    await other.goto(`${server.url}/#/builds/bnothere`);
    await other.getByText('Your API key may not read builds').waitFor();
    await other.close();
  });

  test('dark and narrow screens', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    const { builds } = await api.call<{ builds: Build[] }>('GET', '/v2/builds');
    for (const name of ['sorter', 'slow']) {
      await open(builds.find((one) => one.name === name)!.id);
      expect(await violationsOf(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      await shoot(`${name}-390`);
    }
    await page.goto(`${server.url}/#/builds`);
    await page.getByRole('link', { name: 'sorter', exact: true }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await shoot('list-390');
  });
});

/** Finding one's way in the console: the palette, the tabs of an endpoint and their old addresses, the menu of a phone. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn, violationsOf } from './console-page.ts';

const LONG = `${'name-without-a-space-'.repeat(9)}🌊`;

describe.skipIf(!hasBrowser)('finding the way', { timeout: 300_000 }, () => {
  const complaints: string[] = [];
  let database: TestDatabase;
  let server: ServerProcess;
  let api: Api;
  let browser: Browser;
  let page: Page;
  let id: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    api = new Api(server);
    id = await api.createEndpoint({ name: 'greeter', workers: { min: 0, max: 2 } });
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

  const search = () => page.getByRole('combobox', { name: 'Go to or do anything' });

  /** Types into the palette, waits for the first result, and chooses it. */
  async function choose(query: string, first: string): Promise<void> {
    await page.keyboard.press('ControlOrMeta+k');
    await search().fill(query);
    await page.getByRole('option').first().getByText(first, { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await search().waitFor({ state: 'detached' });
  }

  test('the palette finds a record of each kind, however long its name', async () => {
    const compute = { gpuTypeId: 'NVIDIA GeForce RTX 4090', gpuCountPerPod: 1, podCount: 2 };
    const image = 'podyard/web-js:dev';
    await api.call('POST', '/v2/pods', { name: 'a-pod', image, cpu: { id: 'cpu3c', vcpuCount: 2 } });
    await api.call('POST', '/v2/clusters', { name: 'a-cluster', type: 'TRAINING', compute, image });
    await api.call('POST', '/v2/templates', { name: LONG, image });
    await api.call('POST', '/v2/account/secrets', { name: 'A_SECRET', value: 'canary' });
    await api.call('POST', '/v2/network-volumes', { name: 'a-volume', size: 10, dataCenter: 'LOCAL-1' });
    await api.call('POST', '/v2/registries', { name: 'a-registry', username: 'me', password: 'p' });
    await api.call('POST', '/v2/account/api-keys', { name: 'a-key', scopes: ['all'] });
    await api.call('POST', '/v2/teams', { name: 'a-team' });
    await api.call('POST', '/v2/account/users', { name: 'a-user' });
    await page.reload();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.keyboard.press('ControlOrMeta+k');
    for (const [name, kind] of [
      ['greeter', 'Endpoint'],
      ['a-pod', 'Pod'],
      ['a-cluster', 'Cluster'],
      [LONG, 'Template'],
      ['A_SECRET', 'Secret'],
      ['a-volume', 'Volume'],
      ['a-registry', 'Registry'],
      ['a-key', 'Key'],
      ['a-team', 'Team'],
      ['a-user', 'User'],
    ] as const) {
      await search().fill(`${name} ${kind}`);
      const option = page.getByRole('option').filter({ has: page.getByText(kind, { exact: true }) });
      await option.getByText(name, { exact: true }).waitFor();
    }
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  test('each form that the palette offers opens', async () => {
    const empty = await openPage(browser, { complaints });
    await signIn(empty, server);
    const pages = readFileSync(new URL('../../console/src/shell/pages.ts', import.meta.url), 'utf8');
    const forms = [...pages.matchAll(/\bto: '([^']+)'/g)].map(([, to]) => to!);
    expect(forms.length).toBeGreaterThan(12);
    for (const to of forms) {
      await empty.goto(`${server.url}/#${to}`);
      if (to.endsWith('?new')) await empty.getByRole('dialog').getByRole('textbox').first().waitFor();
      else await empty.locator('main form').waitFor();
      await empty.goto('about:blank');
    }
    await empty.close();
  });

  test('an endpoint is paused and resumed from the palette, which asks first', async () => {
    await choose('pause greeter', 'greeter › Pause…');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Pause', exact: true }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(page.url()).not.toContain('do=');
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('button', { name: 'Resume…' }).waitFor();
    expect(await api.call('GET', `/2026-08/v2/serverless/${id}`)).toMatchObject({ workers: { min: 0, max: 0 } });
    await choose('greeter resume', 'greeter › Resume…');
    await dialog.getByLabel('Max workers').fill('5');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Pause…' }).waitFor();
    expect(await api.call('GET', `/2026-08/v2/serverless/${id}`)).toMatchObject({ workers: { max: 5 } });
    await choose('roll back greeter', 'greeter › Roll back…');
    await page.getByRole('tab', { name: 'Releases', selected: true }).waitFor();
  });

  test('each section of an endpoint has its address, also the former one, and no other has', async () => {
    for (const [section, tab, label] of [
      ['request', 'Requests', 'Send'],
      ['jobs', 'Requests', 'Jobs'],
      ['batches', 'Requests', 'Batches'],
      ['logs', 'Logs', 'Logs'],
      ['decisions', 'Logs', 'Decisions'],
      ['terminal', 'Logs', 'Terminal'],
      ['releases', 'Releases', 'Releases'],
      ['builds', 'Releases', 'Builds'],
      ['models', 'Releases', 'Models'],
    ] as const) {
      await page.goto(`${server.url}/#/endpoints/${id}/${section}`);
      await page.getByRole('tab', { name: tab, selected: true }).waitFor();
      await page
        .getByRole('navigation', { name: `Sections of ${tab}` })
        .locator('[aria-current=page]')
        .getByText(label, { exact: true })
        .waitFor();
    }
    await page.goto(`${server.url}/#/endpoints/${id}/live?range=24h`);
    await page.getByRole('tab', { name: 'Overview', selected: true }).waitFor();
    expect(page.url()).toMatch(/\/overview\?range=24h$/);
    await page.goto(`${server.url}/#/endpoints/${id}/nonsense`);
    await page.getByText('An endpoint has no such section').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'Go to the endpoint' }).click();
    await openTab(page, 'Requests', 'Jobs');
    await expect.poll(() => page.url()).toMatch(/\/jobs$/);
  });

  test('a record that is not there has a page with a way on', async () => {
    for (const [list, label] of [
      ['endpoints', 'All endpoints'],
      ['pods', 'All pods'],
      ['teams', 'All teams'],
      ['users', 'All users'],
      ['clusters', 'All clusters'],
      ['builds', 'All builds'],
    ] as const) {
      await page.goto(`${server.url}/#/${list}/nothing`);
      await page.getByRole('main').getByRole('link', { name: label }).waitFor();
      expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
      expect(await violationsOf(page)).toEqual([]);
    }
  });

  test('what is open on the page of a record does not stay on the page of another', async () => {
    const image = 'podyard/web-js:dev';
    const compute = { gpuTypeId: 'NVIDIA GeForce RTX 4090', gpuCountPerPod: 1, podCount: 2 };
    const create = async (path: string, body: object) => {
      const { id, userId } = await api.call<{ id?: string; userId?: string }>('POST', `/v2/${path}`, body);
      return id ?? userId!;
    };
    for (const [list, button, path, body] of [
      ['endpoints', 'Delete…', 'serverless', { image, workers: { min: 0, max: 1 }, gpu: { pools: ['ADA_24'] } }],
      ['pods', 'Terminate…', 'pods', { image, cpu: { id: 'cpu3c', vcpuCount: 2 } }],
      ['clusters', 'Delete…', 'clusters', { image, type: 'TRAINING', compute }],
      ['teams', 'Add member', 'teams', {}],
      ['users', 'New key', 'account/users', { key: null }],
    ] as const) {
      const one = await create(path, { ...body, name: `one of ${list}` });
      const other = await create(path, { ...body, name: `other of ${list}` });
      const open = async (which: 'one' | 'other') => {
        await page.goto(`${server.url}/#/${list}/${which === 'one' ? one : other}`);
        await page.getByRole('heading', { name: `${which} of ${list}`, level: 1, includeHidden: true }).waitFor();
      };
      await open('other'); // what was read once is shown at once
      await open('one');
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog').waitFor();
      await open('other');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
  });

  test.each(['light', 'dark'] as const)(
    'on a phone the menu opens, leads on and closes, in %s mode',
    async (scheme) => {
      const phone = await openPage(browser, { width: 390, colorScheme: scheme, complaints });
      await signIn(phone, server);
      const menu = phone.getByRole('navigation', { name: 'Main' });
      expect(await menu.isVisible()).toBe(false);
      await phone.getByRole('button', { name: 'Menu' }).click();
      await menu.getByRole('button', { name: /^Act for/ }).click();
      await menu.getByRole('link', { name: 'All teams' }).waitFor();
      expect(await violationsOf(phone)).toEqual([]);
      await phone.keyboard.press('Escape');
      await menu.getByRole('link', { name: 'All teams' }).waitFor({ state: 'hidden' });
      await menu.getByRole('link', { name: 'Secrets', exact: true }).click();
      await phone.getByRole('heading', { name: 'Secrets', level: 1 }).waitFor();
      expect(await menu.isVisible()).toBe(false);
      await phone.close();
    },
  );
});

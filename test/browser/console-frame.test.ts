/** The frame of the console: an outage of the server, a page that fails, a newer build. On simulated workers. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('the frame of the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let api: Api;
  let browser: Browser;
  let page: Page;
  let endpointId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    api = new Api(server);
    endpointId = await api.createEndpoint({ name: 'greeter', workers: { min: 0, max: 0 } });
    browser = await launchBrowser();
    page = await signedIn();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
  });

  async function signedIn(colorScheme: 'light' | 'dark' = 'light', width = 1280): Promise<Page> {
    const opened = await openPage(browser, { width, colorScheme });
    await signIn(opened, server);
    return opened;
  }

  /** Has the page find a newer build when it asks, but not when it is loaded: the reload does not help. */
  async function serveNewerBuild(on: Page): Promise<void> {
    await on.route(`${server.url}/`, async (route) => {
      if (route.request().resourceType() === 'document') return route.continue();
      const response = await route.fetch();
      const body = (await response.text()).replace(/index-[\w-]+\.js/, 'index-newer.js');
      return route.fulfill({ response, body });
    });
  }

  /** Returns the tables that are wider than their frame: something of them cannot be seen. */
  function clippedTables(on: Page): Promise<string[]> {
    return on.evaluate(() => {
      const { document } = globalThis as unknown as { document: { querySelectorAll: (selector: string) => Frame[] } };
      interface Frame {
        getBoundingClientRect: () => { width: number };
        getAttribute: (name: string) => string;
        closest: (selector: string) => Frame;
      }
      return [...document.querySelectorAll('main table')]
        .filter((table) => {
          const frame = table.closest('.mantine-Paper-root');
          return table.getBoundingClientRect().width > frame.getBoundingClientRect().width;
        })
        .map((table) => table.getAttribute('aria-label'));
    });
  }

  test('a page keeps what it shows while the server is away, and catches up without a reload', async () => {
    await page.goto(`${server.url}/#/endpoints`);
    const table = page.getByRole('table', { name: 'endpoints' });
    await table.getByText('greeter').waitFor();
    await page.evaluate('globalThis.isSamePage = true');
    const typing = await signedIn();
    await typing.goto(`${server.url}/#/endpoints/${endpointId}/settings`);
    await typing.getByLabel('Image').fill('half/done');
    await serveNewerBuild(typing);
    await server.kill();
    const banner = page.getByRole('status').getByText('The server cannot be reached.');
    await banner.waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await table.getByText('greeter').waitFor();
    // A page whose script was never loaded waits for the server.
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Billing' }).click();
    await server.start();
    await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor();
    await banner.waitFor({ state: 'detached' });
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Endpoints', exact: true }).click();
    await api.createEndpoint({ name: 'newcomer', workers: { min: 0, max: 0 } });
    await table.getByText('newcomer').waitFor(); // the stream of events is back as well
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true);
    // The other page found a newer build when the server was back, and does not reload itself: something would be lost.
    await typing.getByText('The server has a newer console.').waitFor();
    expect(await typing.getByLabel('Image').inputValue()).toBe('half/done');
    await typing.getByRole('button', { name: 'Later' }).click();
    await typing.getByText('The server has a newer console.').waitFor({ state: 'detached' });
    await typing.close();
  });

  test('in a low window the menu shows the page whose address was opened', async () => {
    const opened = await openPage(browser, { width: 1024, height: 600 });
    await signIn(opened, server);
    await opened.goto(`${server.url}/#/all-endpoints`);
    await opened.reload();
    const entry = opened.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'All endpoints' });
    await entry.waitFor();
    await expect.poll(async () => (await entry.boundingBox())!.y).toBeLessThan(570);
    await opened.close();
  });

  test('a page that cannot be rendered says so, and the frame around it works', async () => {
    await page.route('**/v2/network-volumes*', (route) => route.fulfill({ json: { networkVolumes: 'not a list' } }));
    await page.goto(`${server.url}/#/volumes`);
    await page.getByRole('heading', { name: "This page can't be shown", level: 1 }).waitFor();
    await page.getByText('Details', { exact: true }).click();
    await page.getByText('Page: #/volumes').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'Go to overview' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    // The palette reads the same list. It fails alone.
    await page.keyboard.press('ControlOrMeta+k');
    await page
      .getByRole('alert')
      .getByText(/is not a function/)
      .waitFor();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.unroute('**/v2/network-volumes*');
    await page.reload();
  });

  test('a page of an older build is reloaded once, and never again for that build', async () => {
    const opened = await signedIn();
    let loads = 0;
    opened.on('load', () => {
      loads += 1;
    });
    // The server has a newer console, and the script of a page that was not opened yet is gone.
    await serveNewerBuild(opened);
    await opened.route('**/assets/limits-*.js', (route) => route.fulfill({ status: 404 }));
    await opened.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Limits' }).click();
    await opened.getByRole('heading', { name: "This page couldn't be loaded", level: 1 }).waitFor();
    await opened.getByRole('status').getByText('The server has a newer console.').waitFor();
    expect(loads).toBe(1);
    expect(await violationsOf(opened)).toEqual([]);
    await opened.close();
  });

  test('a part whose script was dropped several times, as by changes of the network, is asked for again', async () => {
    const opened = await signedIn();
    let dropped = 0;
    await opened.route('**/assets/limits-*.js', (route) => {
      dropped += 1;
      return dropped <= 3 ? route.abort('connectionaborted') : route.continue();
    });
    await opened.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Limits' }).click();
    await opened.getByRole('heading', { name: 'Limits', level: 1 }).waitFor();
    expect(dropped).toBe(4);
    await opened.close();
  });

  test.each(['style-*.css', 'index-*.js'])('a page whose %s was not loaded loads itself again', async (file) => {
    const opened = await browser.newPage();
    let dropped = 0;
    await opened.route(`**/assets/${file}`, (route) => {
      dropped += 1;
      return dropped <= 2 ? route.abort() : route.continue();
    });
    await opened.goto(`${server.url}/`);
    await opened.getByLabel('API key').waitFor();
    await until('the page has its styles', () =>
      opened.evaluate<boolean>('document.styleSheets[0]?.cssRules.length > 100').catch(() => false),
    );
    expect(dropped).toBe(3);
    await opened.close();
  });

  test('a page that cannot be loaded says so instead of loading itself forever', async () => {
    const opened = await browser.newPage();
    let asked = 0;
    await opened.route('**/assets/index-*.js', (route) => {
      asked += 1;
      return route.abort();
    });
    await opened.goto(`${server.url}/`);
    await opened.getByRole('status').getByText('The console could not be loaded.').waitFor({ timeout: 60_000 });
    expect(asked).toBe(4);
    await opened.close();
  });

  test('the palette goes anywhere and does anything without a mouse', async () => {
    await api.call('POST', '/v2/templates', { name: 'base', image: 'podyard/echo-js:dev' });
    await page.goto(`${server.url}/#/`);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const search = page.getByRole('combobox', { name: 'Go to or do anything' });
    const options = page.getByRole('option');
    const choose = async (query: string, first: string) => {
      await page.keyboard.press('ControlOrMeta+k');
      await search.fill(query);
      await options.first().getByText(first, { exact: true }).waitFor();
      await page.keyboard.press('Enter');
      await search.waitFor({ state: 'detached' });
    };
    await choose('greeter', 'greeter');
    await page.getByRole('heading', { name: 'greeter', level: 1 }).waitFor();
    await choose(`${endpointId} set`, 'greeter › Settings');
    await page.getByRole('tab', { name: 'Settings', selected: true }).waitFor();
    await choose('admin user', 'admin');
    await page.getByRole('heading', { name: 'admin', level: 1 }).waitFor();
    await choose('base template', 'base');
    await page.getByRole('textbox', { name: 'Search templates' }).waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBe(2); // the header and the one found
    await choose('create secret', 'Create secret…');
    await page.getByRole('dialog', { name: 'New secret' }).waitFor();
    await page.keyboard.press('Escape');
    await choose('dark', 'Switch to dark');
    expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark');
    await page.keyboard.press('ControlOrMeta+k');
    await search.fill('e');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await expect.poll(() => options.last().getAttribute('aria-selected')).toBe('true');
    expect(await violationsOf(page)).toEqual([]);
    await search.fill('no such thing');
    await page.getByText('Nothing is called “no such thing”.').waitFor();
    await page.keyboard.press('Escape');
    await search.waitFor({ state: 'detached' });
    await choose('sign out', 'Sign out');
    await page.getByRole('heading', { name: 'Sign in to Podyard' }).waitFor();
    await page.close();
    page = await signedIn();
  });

  test('the overview begins with what needs attention, and says why', async () => {
    const hog = await api.createEndpoint({ name: 'hog', workers: { min: 4, max: 4 } }); // takes all GPUs
    await until('the workers have places', async () => {
      const workers = await api.workers(hog);
      return workers.length === 4 && workers.every(({ status }) => status !== 'THROTTLED');
    });
    const starved = await api.createEndpoint({ name: 'starved', workers: { min: 1, max: 1 } });
    const opened = await signedIn('dark', 390);
    const attention = opened.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('link', { name: 'starved' }).waitFor();
    await attention.getByText(/no capacity/).waitFor();
    expect(await violationsOf(opened)).toEqual([]);
    for (const path of ['', 'endpoints', `endpoints/${starved}`, 'catalog', 'keys', 'billing', 'limits']) {
      await opened.goto(`${server.url}/#/${path}`);
      await opened.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => opened.locator('[aria-busy=true]').count()).toBe(0);
      expect({ path, clipped: await clippedTables(opened) }).toEqual({ path, clipped: [] });
    }
    await opened.close();
    await Promise.all([api.delete(starved), api.delete(hog)]);
  });

  test('the heading of a page gets the focus, also by back and forward, and after what had it is gone', async () => {
    await api.call('POST', '/v2/templates', { name: 'doomed', image: 'podyard/echo-js:dev' });
    const opened = await signedIn();
    const focused = () => opened.evaluate('document.activeElement.textContent');
    const expectFocus = (text: string) => expect.poll(focused).toBe(text);
    await expectFocus('Overview');
    await opened
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Endpoints', exact: true })
      .click();
    await expectFocus('Endpoints');
    await opened.getByRole('link', { name: 'greeter' }).click();
    await expectFocus('greeter');
    await opened.getByRole('tab', { name: 'Settings' }).click();
    await opened.getByLabel('Image').waitFor();
    await expectFocus('Settings'); // a tab is not another page
    await opened.goBack();
    await expectFocus('Endpoints');
    await opened.goForward();
    await expectFocus('greeter');
    // A dialog gives it back.
    await opened.getByRole('button', { name: 'Delete…' }).click();
    await opened.getByRole('dialog').getByRole('textbox').waitFor();
    await opened.keyboard.press('Escape');
    await expectFocus('Delete…');
    // The palette opens a page.
    await opened.keyboard.press('ControlOrMeta+k');
    await opened.getByRole('combobox', { name: 'Go to or do anything' }).fill('templates');
    await opened.getByRole('option').first().getByText('Templates', { exact: true }).waitFor();
    await opened.keyboard.press('Enter');
    await expectFocus('Templates');
    // The button that opened the dialog is deleted with its row.
    await opened.getByRole('button', { name: 'Delete doomed' }).click();
    await opened.getByLabel('Type “doomed” to confirm').fill('doomed');
    await opened.keyboard.press('Enter');
    await opened.getByRole('button', { name: 'Delete doomed' }).waitFor({ state: 'detached' });
    await expectFocus('Templates');
    await opened.close();
  });

  test('a touch screen is shown no keys, nothing moves for those who ask for that, and figures stand below each other', async () => {
    const context = await browser.newContext({
      viewport: { width: 1024, height: 768 },
      hasTouch: true,
      isMobile: true,
      reducedMotion: 'reduce',
    });
    const touched = await context.newPage();
    await signIn(touched, server);
    await touched.goto(`${server.url}/#/endpoints/${endpointId}`);
    await touched.getByRole('heading', { name: 'greeter', level: 1 }).waitFor();
    await touched.getByRole('button', { name: /^Search/ }).tap();
    await touched.getByRole('option').first().waitFor();
    expect(await touched.locator('.for-keyboards:visible').count()).toBe(0);
    expect(await touched.evaluate('document.getAnimations().length')).toBe(0);
    await touched.goto(`${server.url}/#/keys`);
    await touched.getByRole('cell', { name: 'Active' }).first().waitFor();
    const looks = await touched.evaluate(
      `[...document.querySelectorAll('td, time')].map((one) => getComputedStyle(one).fontVariantNumeric)`,
    );
    expect([...new Set(looks as string[])]).toEqual(['tabular-nums']);
    await context.close();
    await page.keyboard.press('ControlOrMeta+k');
    await page.locator('.palette-foot .for-keyboards').waitFor();
    await page.keyboard.press('Escape');
  });

  test('breadcrumbs lead back, and a time says when exactly', async () => {
    await page.goto(`${server.url}/#/endpoints/${endpointId}`);
    await page.getByRole('heading', { name: 'greeter', level: 1 }).waitFor();
    await page
      .getByRole('navigation', { name: 'Breadcrumbs' })
      .getByRole('link', { name: 'Endpoints', exact: true })
      .click();
    await page.getByRole('heading', { name: 'Endpoints', level: 1 }).waitFor();
    await page.goto(`${server.url}/#/keys`);
    const time = page.locator('time').first();
    await time.focus();
    await page.getByRole('tooltip').getByText(/\d{4}/).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('tooltip').waitFor({ state: 'detached' });
  });
});

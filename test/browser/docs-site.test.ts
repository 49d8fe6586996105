import { existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../rest-app.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, violationsOf } from './console-page.ts';

const SITE = new URL('../../dist/docs/', import.meta.url);
const IS_BUILT = existsSync(new URL('index.html', SITE));
const PICTURES = join(import.meta.dirname, '../../test-results/docs');
/** All pages share one template; together these contain every kind of element. */
const SLUGS = ['', 'start', 'scaling', 'configuration', 'checklists-add-a-metric'];
const ALL_SLUGS = IS_BUILT
  ? readdirSync(SITE).flatMap((name) => (name.endsWith('.html') ? name.replace(/^index\.html$|\.html$/, '') : []))
  : [];

/** All pages take axe-core minutes, most of them the API reference: a run looks at every twentieth, from another one each time. */
const SHARDS = process.env.PODYARD_TEST_THOROUGH === 'true' ? 1 : 20;
/** DOCS_SHARD repeats a run. */
const SHARD = Number(process.env.DOCS_SHARD ?? Date.now()) % SHARDS;

/** No error is expected, not even a refusal. */
const NONE = /(?!)/;

/** A script that puts the main part of a page in place of the one that is shown: nothing else differs. */
const showMainOf = (slug: string) => `(async () => {
  const text = await (await fetch(${JSON.stringify(slug || './')})).text();
  document.querySelector('main').replaceWith(new DOMParser().parseFromString(text, 'text/html').querySelector('main'));
})()`;

describe.skipIf(!hasBrowser || !IS_BUILT)('the documentation in a browser', () => {
  let rest: RestFixture;
  let server: Server;
  let browser: Browser;
  let base: string;
  const asked: string[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    rest = await startRestApp();
    // Like a proxy whose public URL has a path.
    server = createServer((request, response) => {
      request.url = request.url!.replace(/^\/cloud\//, '/');
      rest.app.routing(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/cloud`;
    await mkdir(PICTURES, { recursive: true });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    await rest?.close();
  });

  async function newPage(colorScheme: 'light' | 'dark', width: number): Promise<Page> {
    const page = await openPage(browser, { width, colorScheme, complaints, expected: NONE });
    page.on('request', (request) => asked.push(request.url()));
    return page;
  }

  /** Returns the accessibility violations, and whether the page is wider than the window. */
  async function barriersOf(page: Page): Promise<string[]> {
    const found = await violationsOf(page);
    if (await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
      found.push('it is wider than the window');
    return found;
  }

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('pages are accessible, %s at %i pixels', async (scheme, width) => {
    const page = await newPage(scheme, width);
    for (const slug of SLUGS) {
      await page.goto(`${base}/docs/${slug}`);
      expect([slug, await barriersOf(page)]).toEqual([slug, []]);
    }
    await page.goto(`${base}/docs`);
    await page.screenshot({ path: join(PICTURES, `${scheme}-${width}.png`) });
    await page.close();
  });

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(`a sample of all pages is accessible, %s at %i pixels (DOCS_SHARD=${SHARD})`, async (scheme, width) => {
    const page = await newPage(scheme, width);
    await page.goto(`${base}/docs/`);
    const found: string[] = [];
    for (const slug of ALL_SLUGS.filter((_, n) => n % SHARDS === SHARD)) {
      await page.evaluate(showMainOf(slug));
      found.push(...(await violationsOf(page, 'main')).map((violation) => `${slug || 'index'}: ${violation}`));
    }
    expect(found).toEqual([]);
    await page.close();
  });

  /** Returns what of each page cannot be seen without scrolling sideways. Pages differ in their main part alone. */
  const cutOff = (page: Page, slugs: readonly string[]) =>
    page.evaluate<string[]>(`Promise.all(${JSON.stringify(slugs)}.map(async (slug) => {
      const text = await (await fetch(slug === '' ? './' : slug)).text();
      return { slug, main: new DOMParser().parseFromString(text, 'text/html').querySelector('main') };
    })).then((pages) => pages.flatMap(({ slug, main }) => {
      document.querySelector('main').replaceWith(main);
      return [document.documentElement, ...main.querySelectorAll('.table')]
        .filter((part) => part.scrollWidth > part.clientWidth)
        .map((part) => slug + ': ' + (part.querySelector('th')?.parentElement.textContent ?? ''));
    }))`);

  test.each([1440, 390])('no page and no table is wider than a window of %i pixels', async (width) => {
    const page = await newPage('light', width);
    await page.goto(`${base}/docs/`);
    expect(ALL_SLUGS.length).toBeGreaterThan(100);
    expect(await cutOff(page, ALL_SLUGS)).toEqual([]);
    await page.close();
  });

  test('a narrow window shows the rows of a table as blocks, with the titles of the columns', async () => {
    const page = await newPage('dark', 390);
    await page.goto(`${base}/docs/existing-clients`);
    const cell = page.locator('table.wide td[data-title="Point it here"]').first();
    const title = `getComputedStyle(document.querySelector('td[data-title="Point it here"]'), '::before').content`;
    expect(await page.evaluate(title)).toBe('"Point it here"');
    expect((await cell.boundingBox())!.width).toBeGreaterThan(300);
    expect(await barriersOf(page)).toEqual([]);
    await page.close();
  });

  test('pages link to each other, are found by search, and keep the chosen colours', async () => {
    const page = await newPage('light', 1280);
    await page.goto(`${base}/docs`);
    await page.getByRole('navigation').getByRole('link', { name: 'FlashBoot' }).click();
    await page.getByRole('heading', { level: 1, name: 'FlashBoot' }).waitFor();
    await page.getByLabel('Search the documentation').fill('completion command');
    await page.getByRole('search').getByRole('link', { name: 'Completion The command line' }).click();
    await page.waitForURL(`${base}/docs/command-line#completion`);
    await page.getByRole('button', { name: 'Light or dark' }).click();
    await page.reload();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    expect(await barriersOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'API reference' }).click();
    await page.waitForURL(`${base}/docs/api`);
    await page.close();
  });

  test('search answers a question by keyboard', async () => {
    const page = await newPage('dark', 390);
    await page.goto(`${base}/docs/start`);
    await page.keyboard.press('/');
    await page.keyboard.type('how do I take a backup?');
    const results = page.getByRole('list', { name: 'Results' });
    await results.getByRole('link', { name: 'Backup Operations' }).waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${base}/docs/operations#backup`);
    await page.close();
  });

  test('a wrong address leads on: search has its words, and the nearest pages are listed', async () => {
    const page = await newPage('light', 1280);
    await page.goto(`${base}/docs/guide/share-with-my-teem`);
    expect(page.url()).toBe(`${base}/docs/share-with-my-teem`);
    expect(await page.getByLabel('Search the documentation').inputValue()).toBe('share with my teem');
    const nearest = page.locator('.nearest').getByRole('link');
    await nearest.first().waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await nearest.filter({ hasText: 'Share with a team' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Share with a team' }).waitFor();
    await page.goto(`${base}/docs/guide/start.md`);
    expect(page.url()).toBe(`${base}/docs/start`);
    await page.close();
  });

  test.each(['light', 'dark'] as const)('in %s the first page shows the console in its own colours', async (scheme) => {
    const page = await newPage(scheme, 1280);
    await page.goto(`${base}/docs/`);
    const shown = async () =>
      (await page.getByAltText('The console:').filter({ visible: true }).all()).map((image) =>
        image.getAttribute('class'),
      );
    const other = scheme === 'light' ? 'dark' : 'light';
    expect(await Promise.all(await shown())).toEqual([`shown-${scheme}`]);
    await page.getByRole('button', { name: 'Light or dark' }).click();
    expect(await Promise.all(await shown())).toEqual([`shown-${other}`]);
    await page.close();
  });

  test('at phone width the menu opens and closes', async () => {
    const page = await newPage('light', 390);
    await page.goto(`${base}/docs/start`);
    const entry = page.getByRole('navigation').getByRole('link', { name: 'Secrets' });
    expect(await entry.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await entry.click();
    await page.getByRole('heading', { level: 1, name: 'Secrets' }).waitFor();
    await page.close();
  });

  test('nothing is loaded from another host or blocked by the policy', () => {
    expect(asked.filter((url) => !url.startsWith(`${base}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints.filter((text) => !/status of 404/.test(text))).toEqual([]);
  });
});

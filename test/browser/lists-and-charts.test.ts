/** Lists with states and orders, forms with their summary, and charts that are drawn over. On simulated GPUs. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('lists, forms and charts', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let endpointId: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    const api = new Api(server);
    endpointId = await api.createEndpoint({ name: 'sorter', workers: { min: 0, max: 3 } });
    for (let n = 0; n < 9; n++) {
      const user = await api.call<{ userId: string }>('POST', '/v2/account/users', { name: `user-${n}`, key: null });
      if (n === 4) await api.call('POST', `/v2/account/users/${user.userId}/suspend`, { workloads: 'KEEP' });
    }
    await api.call('POST', '/v2/templates', { name: 'base', image: 'podyard/echo-js:dev' });
    await database.pool.query(
      `insert into history (kind, subject, span, starts_at, completed)
       select 'ENDPOINT', $1, 'minute', date_trunc('minute', now()) - n * interval '1 minute', n
       from generate_series(1, 50) n on conflict do nothing`,
      [endpointId],
    );
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

  const open = async (path: string, on = page) => {
    await on.goto(`${server.url}/#/${path}`);
    await on.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => on.locator('[aria-busy=true]').count()).toBe(0);
  };
  const firstRow = () => page.locator('[data-row="0"]');

  test('who needs somebody comes first; a state and an order are in the URL, and the keyboard opens a row', async () => {
    await open('users');
    await firstRow().getByText('user-4').waitFor();
    await page.getByRole('button', { name: /^Suspended/ }).click();
    await expect.poll(() => page.locator('[data-row]').count()).toBe(1);
    expect(page.url()).toContain('state=SUSPENDED');
    await page.getByRole('button', { name: /^Suspended/ }).click();
    await page.getByRole('button', { name: 'Name' }).click();
    await page.getByRole('button', { name: 'Name' }).click();
    await firstRow().getByText('user-8').waitFor();
    expect(page.url()).toContain('sort=-name');
    await page.reload();
    await firstRow().getByText('user-8').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'user-7', level: 1 }).waitFor();
  });

  test('the catalog begins with what is here, and finds the rest folded', async () => {
    await open('catalog');
    await page.getByRole('table', { name: 'GPUs', exact: true }).getByText('RTX 4090').waitFor();
    const absent = page.getByRole('region', { name: 'absent GPUs' });
    expect(await absent.isVisible()).toBe(false);
    await page.getByText(/^\d+ more GPU types that this installation doesn’t have$/).click();
    await page.getByLabel('Search absent GPUs').fill('h200');
    await absent.getByText(/H200/).first().waitFor();
    await expect.poll(() => page.url()).toContain('absent=h200');
    expect(await violationsOf(page)).toEqual([]);
  });

  test('beside the form of an endpoint stands what it costs and starts, and of an edit what it replaces', async () => {
    await open('endpoints/new');
    const summary = page.getByRole('region', { name: 'Summary', exact: true });
    await summary.getByText('a worker, with the first job').waitFor();
    await page.getByRole('button', { name: /^Always ready/ }).click();
    await summary.getByText('1 worker at once').waitFor();
    expect(await page.getByRole('button', { name: /^Always ready/ }).getAttribute('aria-pressed')).toBe('true');
    await page.getByText('Advanced').click();
    await page.getByLabel('Container disk').fill('40');
    await page.getByText('1 set').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.evaluate('sessionStorage.clear()');
    await page.reload();
    await page.goto('about:blank');

    await open(`endpoints/${endpointId}/settings`);
    await page.getByLabel('Max workers').fill('5');
    await summary.getByText('Takes effect at once.').waitFor();
    await page.getByRole('textbox', { name: 'Image' }).fill('podyard/echo-js:v2');
    await summary.getByText('2 changes').waitFor();
    await summary.getByText('podyard/echo-js:dev → podyard/echo-js:v2').waitFor();
    await summary.getByText('Makes a new version.').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await summary.getByText('No changes').waitFor();
  });

  test('a dialog with changes asks before it closes, and keeps them on demand', async () => {
    await open('templates');
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Image' }).fill('ghcr.io/acme/new:2');
    await dialog.getByText('1 change').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.getByText('Leave with unsaved changes?').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Stay' }).click();
    expect(await dialog.getByRole('textbox', { name: 'Image' }).inputValue()).toBe('ghcr.io/acme/new:2');
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Keep and leave' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByText('Your unsaved changes are back.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await dialog.getByRole('textbox', { name: 'Image' }).inputValue()).toBe('podyard/echo-js:dev');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('a chart of the past is drawn over to zoom, by link too, and is a table for whoever asks', async () => {
    await open(`endpoints/${endpointId}?range=1h`);
    const chart = page.getByRole('img', { name: /^Jobs ended over/ });
    await chart.locator('.recharts-area').first().waitFor();
    const { x, y, width, height } = (await chart.boundingBox())!;
    await page.mouse.move(x + width * 0.5, y + height * 0.4);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.6, y + height * 0.4, { steps: 5 });
    await page.mouse.move(x + width * 0.8, y + height * 0.4, { steps: 5 });
    await page.mouse.up();
    await expect.poll(() => page.url()).toMatch(/from=.*&until=/);
    await page.reload();
    const whole = page.getByRole('button', { name: 'Whole period' });
    await whole.first().waitFor();
    await page.getByRole('button', { name: /^Table of Jobs ended/ }).click();
    const table = page.getByRole('table', { name: /^Jobs ended over/ });
    await expect.poll(() => table.getByRole('row').count()).toBeGreaterThan(5);
    expect(await table.getByRole('row').count()).toBeLessThan(40);
    expect(await violationsOf(page)).toEqual([]);
    await whole.first().click();
    await expect.poll(() => page.url()).not.toContain('from=');
    await expect.poll(() => table.getByRole('row').count()).toBeGreaterThan(50);
  });

  test.each([390, 1440])('at %i pixels, labels of charts are round, whole, and apart', async (width) => {
    const charts = await openPage(browser, { width, complaints });
    await signIn(charts, server);
    for (const range of ['1h', '24h', '7d', '30d']) {
      await open(`endpoints/${endpointId}?range=${range}`, charts);
      await charts.getByRole('button', { name: /^Show all/ }).click();
      await charts.getByRole('img', { name: /^Cost over/ }).waitFor();
      await charts.locator('.recharts-xAxis-tick-labels text').first().waitFor();
      const { cut, over, times } = await charts.evaluate<{ cut: string[]; over: string[]; times: string[] }>(`(() => {
        const boxes = (axis) => [...axis.querySelectorAll('text')].map((one) => [one.textContent, one.getBoundingClientRect()]);
        const svgs = [...document.querySelectorAll('main .recharts-surface:has(.recharts-xAxis)')];
        const axes = svgs.flatMap((svg) => [...svg.querySelectorAll('.recharts-xAxis-tick-labels, .recharts-yAxis-tick-labels')]
          .map((axis) => [svg.getBoundingClientRect(), boxes(axis)]));
        const cut = axes.flatMap(([all, labels]) => labels.filter(([, box]) => box.left < all.left || box.right > all.right || box.top < all.top));
        const over = axes.flatMap(([, labels]) => labels.filter(([, a], i) => labels.slice(i + 1).some(([, b]) =>
          a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)));
        const times = svgs.flatMap((svg) => boxes(svg.querySelector('.recharts-xAxis-tick-labels')));
        return { cut: cut.map(([text]) => text), over: over.map(([text]) => text), times: times.map(([text]) => text) };
      })()`);
      expect({ range, cut, over }).toEqual({ range, cut: [], over: [] });
      expect(times.length).toBeGreaterThan(10);
      for (const time of times)
        expect(time).toMatch(range === '1h' ? /^\d+:\d0\s[AP]M$/ : range === '24h' ? /^\d+:00\s[AP]M$/ : /^\w+ \d+$/);
    }
    await charts.close();
  });

  test.each(['light', 'dark'] as const)(
    'on a phone in %s, records are blocks, and what is pressed is large',
    async (colorScheme) => {
      const phone = await openPage(browser, { width: 390, height: 844, colorScheme, complaints });
      await signIn(phone, server);
      for (const path of ['users', 'limits', 'keys', 'catalog', 'billing', 'endpoints/new', 'pods/new', 'templates']) {
        await open(path, phone);
        const small = await phone.evaluate<string[]>(
          `[...document.querySelectorAll('main :is(button, input:not([type=checkbox], [type=radio], [type=hidden]), summary)')]
          .filter((one) => one.checkVisibility() && !one.closest('thead, .mantine-NumberInput-controls, .mantine-Pill-root, table .visually-hidden'))
          .filter((one) => one.getBoundingClientRect().height < 44 && !one.closest('.mantine-Input-section, .mantine-Input-wrapper'))
          .map((one) => one.outerHTML.slice(0, 120))`,
        );
        const isWider = await phone.evaluate('document.documentElement.scrollWidth > innerWidth');
        expect({ path, small, isWider, violations: await violationsOf(phone) }).toEqual({
          path,
          small: [],
          isWider: false,
          violations: [],
        });
      }
      await open('endpoints/new', phone);
      await phone.getByRole('button', { name: 'Add variable' }).click();
      const [name, value] = await Promise.all(
        ['Name', 'Value'].map((what) => phone.getByLabel(`${what} of variable 1`).boundingBox()),
      );
      expect(name!.width).toBeGreaterThan(200);
      expect(value!.y).toBeGreaterThan(name!.y);
      await phone.close();
    },
  );

  test('on a large screen the heading stays where it is, from page to page', async () => {
    const large = await openPage(browser, { width: 2560, height: 1300, complaints });
    await signIn(large, server);
    const places = new Set<number>();
    for (const path of ['', 'users', 'limits', 'audit', 'endpoints/new', `endpoints/${endpointId}`]) {
      await open(path, large);
      places.add((await large.getByRole('heading', { level: 1 }).boundingBox())!.x);
    }
    expect([...places]).toHaveLength(1);
    await large.close();
  });

  test('at 200 % of a screen of 1280 pixels nothing is cut', async () => {
    const zoomed = await openPage(browser, { width: 640, height: 450, complaints });
    await signIn(zoomed, server);
    for (const path of [
      'users',
      'limits',
      'keys',
      'catalog',
      'billing',
      'endpoints/new',
      `endpoints/${endpointId}/settings`,
    ]) {
      await open(path, zoomed);
      expect([path, await zoomed.evaluate('document.documentElement.scrollWidth > innerWidth')]).toEqual([path, false]);
    }
    await zoomed.close();
  });

  test('a long list shows its first endpoints before it has all, unless it is narrowed', async () => {
    await database.pool.query(
      `insert into endpoints
       select (jsonb_populate_record(e, jsonb_build_object('id', 'copy' || n, 'name', 'copy-' || n, 'created_at', e.created_at + n * interval '1 s'))).*
       from endpoints e, generate_series(1, 299) n where e.id = $1`,
      [endpointId],
    );
    const opened = async (path: string, to: string) => {
      const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
      const tab = await openPage(browser, { complaints });
      await tab.route(`${server.url}/v2/serverless`, (route) => isRead.then(() => route.continue()));
      await tab.goto(`${server.url}/#/keys`);
      await signIn(tab, server);
      await tab.goto(`${server.url}/#/${path}`);
      await tab.locator(to).first().waitFor();
      return { tab, read };
    };
    const { tab, read } = await opened('endpoints', '[data-row]');
    await tab.getByRole('status').filter({ hasText: '…' }).waitFor();
    expect(await tab.locator('[data-row="0"]').textContent()).toContain('sorter');
    read();
    await tab.getByRole('status').filter({ hasText: '300' }).waitFor();
    expect(await tab.locator('[data-row="0"]').textContent()).toContain('sorter');
    await tab.close();

    const narrowed = await opened('endpoints?sort=-name', '[aria-busy=true]');
    expect(await narrowed.tab.locator('[data-row]').count()).toBe(0);
    narrowed.read();
    await narrowed.tab.locator('[data-row="0"]').getByText('sorter').waitFor();
    await narrowed.tab.close();
  });
});

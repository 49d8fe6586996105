/** The list of endpoints as a place to watch, and the page of one. On simulated workers: nothing of it needs a real one. */
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

/** Screenshots for people to look at; git ignores them. */
const SCREENSHOTS = fileURLToPath(new URL('../../test-results/console/', import.meta.url));
const FAILURE = 'it exited with code 1:\nTraceback (most recent call last):\nCUDA out of memory';

describe.skipIf(!hasBrowser)('endpoints in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  const ids: Record<string, string> = {};
  const complaints: string[] = [];

  beforeAll(async () => {
    await mkdir(SCREENSHOTS, { recursive: true });
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    const api = new Api(server);
    const create = async (name: string, more: object = {}) => {
      ids[name] = await api.createEndpoint({ name, workers: { min: 0, max: 3 }, ...more });
    };
    await create('summaries');
    await create('images', { image: 'ghcr.io/acme/images:2' });
    await create('chat', { type: 'LOAD_BALANCING', workers: { min: 1, max: 2 } });
    await create('paused', { workers: { min: 0, max: 0 } });
    await create('broken');
    await seed();
    await api.call('PATCH', `/v2/serverless/${ids.summaries}`, { image: 'podyard/echo-js:v2' });
    await database.pool.query(
      "update releases set created_at = now() - interval '17 minutes' where endpoint_id = $1 and version = 2",
      [ids.summaries],
    );
    browser = await launchBrowser();
    page = await signedIn('light', 1280);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  async function seed(): Promise<void> {
    await database.pool.query(
      `insert into history (kind, subject, span, starts_at, completed, failed, amount, latencies, waits, executions)
       select 'ENDPOINT', $1, 'minute', date_trunc('minute', now()) - n * interval '1 minute', 60 + n % 7 * 9, n % 11 / 10, 0.011,
              array[(72 + n % 5)::bigint << 32 | 60], array[54::bigint << 32 | 60], array[(71 + n % 5)::bigint << 32 | 60]
       from generate_series(1, 58) n`,
      [ids.summaries],
    );
    await database.pool.query(
      `insert into history (kind, subject, span, starts_at, requests_2xx, requests_4xx, requests_5xx, amount, latencies)
       select 'ENDPOINT', $1, 'minute', date_trunc('minute', now()) - n * interval '1 minute', 300 + n % 13 * 20, n % 4, n % 17 / 16,
              0.004, array[(60 + n % 9)::bigint << 32 | 300]
       from generate_series(1, 58) n`,
      [ids.chat],
    );
    await database.pool.query(
      `insert into scaling_decisions (endpoint_id, at, wanted, reason, inputs, actions)
       select $1, now() - n * interval '11 minutes', 2, case n when 2 then $2 else 'a job waits and there is no worker' end, '{}',
              jsonb_build_array(jsonb_build_object('kind', case n when 2 then 'exit' else 'start' end, 'workerId', 'w' || n, 'cause',
                case n when 2 then 'EXITED' else 'DEMAND' end, 'reason', 'x'))
       from generate_series(4, 1, -1) n`,
      [ids.summaries, FAILURE],
    );
    await database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, spec, phase, is_lost, created_at, exited_at, exit_code, phase_reason, timeline)
       select 'lost' || n, $1, user_id, 1, 'STOP', '', '{"image": "podyard/echo-js:dev"}', 'EXITED', true, now() - interval '2 minutes',
              now() - n * interval '30 s', 1, $2, jsonb_build_object('capacityAt', now() - interval '118 s', 'pullAt', now() - interval '100 s')
       from endpoints, generate_series(1, 3) n where id = $1`,
      [ids.broken, FAILURE],
    );
  }

  async function signedIn(colorScheme: 'light' | 'dark', width: number): Promise<Page> {
    const opened = await openPage(browser, { width, colorScheme, complaints });
    await signIn(opened, server);
    return opened;
  }

  /** The names in the list, from top to bottom. */
  const names = () => page.locator('[data-row] td:first-child a').allTextContents();

  test('the list has state, reason, course, work and cost of each; what fails comes first', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Endpoints', exact: true }).click();
    const row = (name: string) => page.locator('[data-row]').filter({ has: page.getByRole('link', { name }) });
    await row('broken').getByText('CUDA out of memory').waitFor();
    await row('paused').getByText('workers.max is 0').waitFor();
    await row('summaries').getByRole('img', { name: 'Requests over the last hour' }).waitFor();
    await row('chat').getByRole('img', { name: 'p95 latency over the last hour' }).waitFor();
    await row('summaries')
      .getByText(/^\$0\.\d+$/)
      .waitFor();
    await expect.poll(names).toEqual(['broken', 'summaries', 'images', 'chat', 'paused']);
    await page.screenshot({ path: `${SCREENSHOTS}endpoints-list-light.png` });
    expect(await violationsOf(page)).toEqual([]);
  });

  test('columns sort, filters narrow, and a link has both', async () => {
    await page.getByRole('button', { name: 'Requests/s' }).click();
    await expect.poll(async () => (await names()).slice(0, 2)).toEqual(['chat', 'summaries']);
    await page.getByRole('button', { name: /^Paused ?1$/ }).click();
    await expect.poll(names).toEqual(['paused']);
    expect(page.url()).toContain('state=PAUSED');
    await page.reload();
    await expect.poll(names).toEqual(['paused']);
    await page.getByRole('button', { name: /^Paused ?1$/ }).click();
    await page.getByRole('combobox', { name: 'Kind' }).click();
    await page.getByRole('option', { name: 'Load balancer' }).click();
    await expect.poll(names).toEqual(['chat']);
    await page.getByLabel('Search endpoints').fill('nothing');
    await page.getByText('No endpoint matches.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByLabel('Search endpoints').fill('acme');
    await expect.poll(names).toEqual(['images']);
    await page.getByLabel('Search endpoints').fill('');
    await expect.poll(names).toHaveLength(5);
  });

  test('the keyboard moves between rows and opens one', async () => {
    await page.getByRole('heading', { name: 'Endpoints', level: 1 }).click();
    for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
    const focused = () => page.evaluate('document.activeElement.textContent');
    await expect.poll(focused).toBe('summaries');
    await page.keyboard.press('ArrowDown');
    await expect.poll(focused).toBe('images');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'images', level: 1 }).waitFor();
  });

  test('the header says the state in words and has what clients need', async () => {
    await page.goto(`${server.url}/#/endpoints/${ids.broken}`);
    await page.getByText(/^Failing since .+: CUDA out of memory$/).waitFor();
    await page.getByRole('button', { name: `Copy queue URL ${server.url}/v2/${ids.broken}` }).waitFor();
    const starts = page.getByRole('table', { name: 'Cold starts' }).getByRole('row');
    await starts
      .filter({ hasText: 'Not ready' })
      .first()
      .getByRole('img', { name: /^Wait for capacity .+, pull image / })
      .waitFor();
    const ended = page.getByRole('table', { name: 'Ended workers' }).getByRole('row');
    await ended.filter({ hasText: 'CUDA out of memory' }).first().waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}endpoint-header-light.png`, fullPage: true });
    expect(await violationsOf(page)).toEqual([]);
    await page.goto(`${server.url}/#/endpoints/${ids.chat}`);
    await page.getByRole('button', { name: /^Copy load-balancing URL http/ }).waitFor();
  });

  test('charts of the past mark releases and scaling; the period is in the address, and the marks are also a table', async () => {
    await page.goto(`${server.url}/#/endpoints/${ids.summaries}/live?range=1h`);
    await page.getByRole('img', { name: 'Latency over the last 1h' }).waitFor();
    const marks = page.getByRole('list', { name: 'Events of the period' });
    await marks.getByRole('button', { name: /Version 2: changed: image/ }).focus();
    await page.getByRole('tooltip', { name: /Version 2: changed: image/ }).waitFor();
    await page.locator('.chart').getByText('v2', { exact: true }).first().waitFor();
    await page.getByText(/^\d+ events$/).click();
    const row = page.getByRole('table', { name: 'Events of the period' }).getByRole('row');
    await row.filter({ hasText: '1 worker ended unexpectedly' }).filter({ hasText: 'CUDA out of memory' }).waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}endpoint-charts-light.png`, fullPage: true });
    expect(await violationsOf(page)).toEqual([]);
    await page.getByText('7 d', { exact: true }).click();
    await page.getByRole('img', { name: 'Jobs ended over the last 7d' }).waitFor();
    expect(page.url()).toContain('range=7d');
    await page.goto(`${server.url}/#/endpoints/${ids.chat}/live?range=1h`);
    await page.getByRole('img', { name: 'Requests over the last 1h' }).waitFor();
    await page.getByText('5xx', { exact: true }).waitFor();
  });

  test('the panel of a worker closes when the page of another endpoint opens', async () => {
    await page.goto(`${server.url}/#/endpoints/${ids.summaries}`); // what is read once is shown at once
    await page.getByRole('heading', { name: 'summaries', level: 1 }).waitFor();
    await page.goto(`${server.url}/#/endpoints/${ids.broken}`);
    await page.getByRole('button', { name: 'lost1', exact: true }).first().click();
    const panel = page.getByRole('dialog', { name: 'Worker lost1' });
    await panel.waitFor();
    await page.goto(`${server.url}/#/endpoints/${ids.summaries}`);
    await page.getByRole('heading', { name: 'summaries', level: 1 }).waitFor();
    await panel.waitFor({ state: 'detached' });
  });

  test('a duplicate is a form with the settings of the endpoint', async () => {
    await page.goto(`${server.url}/#/endpoints/${ids.images}`);
    await page.getByRole('link', { name: 'Duplicate' }).click();
    await expect.poll(() => page.getByLabel('Image').inputValue()).toBe('ghcr.io/acme/images:2');
    expect(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toBe('images-copy');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: 'images-copy', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('images-copy');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Endpoints', level: 1 }).waitFor();
    await expect.poll(names).toHaveLength(5);
  });

  test('a roll-out can be paused only while it runs', async () => {
    await page.goto(`${server.url}/#/endpoints/${ids.images}/releases`);
    await page.getByText('No workers running. The next one starts on the latest version.').waitFor();
    expect(await page.getByRole('button', { name: 'Pause roll-out' }).count()).toBe(0);
  });

  test('the list and the page are usable at 390 px in the dark', async () => {
    const narrow = await signedIn('dark', 390);
    await narrow.goto(`${server.url}/#/endpoints`);
    await narrow.getByText('CUDA out of memory').first().waitFor();
    await narrow.screenshot({ path: `${SCREENSHOTS}endpoints-list-dark-390.png` });
    expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await violationsOf(narrow)).toEqual([]);
    await narrow.goto(`${server.url}/#/endpoints/${ids.summaries}/live?range=1h`);
    await narrow.getByRole('img', { name: 'Latency over the last 1h' }).waitFor();
    await narrow.screenshot({ path: `${SCREENSHOTS}endpoint-charts-dark-390.png` });
    expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await violationsOf(narrow)).toEqual([]);
    await narrow.goto(`${server.url}/#/endpoints`);
    await narrow.setViewportSize({ width: 1280, height: 900 });
    await narrow.getByText('CUDA out of memory').first().waitFor();
    await narrow.screenshot({ path: `${SCREENSHOTS}endpoints-list-dark.png` });
    expect(await violationsOf(narrow)).toEqual([]);
    await narrow.context().close();
  });
});

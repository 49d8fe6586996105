/**
 * A newcomer's day with the console, counted: start, sign in, deploy, break it, find out why, mend, watch, share, pay. It prints the clicks,
 * commands and seconds of each step (docs/decisions/0130-map-of-the-console.md); a step may not take more clicks than it does now.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { meterUsage } from '../../src/domain/billing/meter-usage.ts';
import { currentPrices } from '../../src/domain/billing/price-list.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn } from './console-page.ts';

interface Step {
  step: string;
  clicks: number;
  commands: number;
  seconds: number;
}

const ERROR = 'RuntimeError: CUDA out of memory';

describe.skipIf(!hasBrowser)('a day with the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let home: string;
  let clicks = 0;
  const day: Step[] = [];

  /** Does a step with at most so many clicks: a choice with the pointer, and not typing. */
  function step(name: string, atMost: number, act: () => Promise<void>): void {
    test(name, async () => {
      clicks = 0;
      const startedAt = performance.now();
      await act();
      day.push({ step: name, clicks, commands: 0, seconds: secondsSince(startedAt) });
      expect(clicks).toBeLessThanOrEqual(atMost);
    });
  }

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'podyard-day-'));
    const broken = { command: ['sh', '-c', `echo '${ERROR}' >&2; exit 1`], directory: home };
    await writeFile(join(home, 'images.json'), JSON.stringify({ 'shop/model:broken': broken }));
    database = await createTestDatabase();
    const env = { PODYARD_IMAGES_FILES: join(home, 'images.json') };
    const startedAt = performance.now();
    server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env });
    day.push({ step: 'start the server', clicks: 0, commands: 1, seconds: secondsSince(startedAt) });
    browser = await launchBrowser();
    page = await openPage(browser);
    await page.exposeFunction('countClick', () => clicks++);
    await page.addInitScript(`addEventListener('click', (event) => event.isTrusted && countClick(), true)`);
  });
  afterAll(async () => {
    process.stdout.write(dayTable(day));
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    await rm(home, { recursive: true, force: true });
  });

  const menu = () => page.getByRole('navigation', { name: 'Main' });

  step('sign in', 1, () => signIn(page, server));

  step('deploy, and run a job', 4, async () => {
    await page.getByRole('link', { name: 'your own image' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('shop');
    await page.getByRole('textbox', { name: 'Image' }).fill('podyard/echo-js:dev');
    await page.getByLabel('Min workers').fill('1');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor();
    await openTab(page, 'Requests');
    await page.getByRole('textbox', { name: 'Input' }).fill('{"echo": "good morning"}');
    await page.getByRole('button', { name: 'Run job' }).click();
    await page.getByText('"good morning"', { exact: true }).waitFor();
  });

  step('break it', 2, async () => {
    await openTab(page, 'Settings');
    await page.getByRole('textbox', { name: 'Image' }).fill('shop/model:broken');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').waitFor();
    await page.goto(`${server.url}/#/`);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  });

  step('find out why, from the overview', 1, async () => {
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('link', { name: 'shop' }).click();
    await page.getByText(ERROR).first().waitFor();
  });

  step('mend it: the next release gets through', 3, async () => {
    await openTab(page, 'Settings');
    await page.getByRole('textbox', { name: 'Image' }).fill('podyard/echo-js:v2');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await openTab(page, 'Releases');
    await page.getByText('shop/model:broken → podyard/echo-js:v2').waitFor();
    await page.getByText('1 of 1 workers on version 3.').waitFor();
  });

  step('watch: the jobs of the day are there, and why workers came and went', 4, async () => {
    await openTab(page, 'Requests', 'Jobs');
    await page.getByRole('cell', { name: 'Completed' }).first().waitFor();
    await openTab(page, 'Logs', 'Decisions');
    await page
      .getByText(/workers\.min/)
      .first()
      .waitFor();
  });

  step('share: a key that only calls', 4, async () => {
    await menu().getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('a colleague');
    await dialog.getByRole('button', { name: 'Invoke only' }).click();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText("You won't be able to view it again.").waitFor();
    await page.keyboard.press('Escape');
  });

  test('export the cost of the day', async () => {
    await meterUsage(database.pool, currentPrices(), new Date(Date.now() + 120_000)); // as after each minute
    const startedAt = performance.now();
    await menu().getByRole('link', { name: 'Billing' }).click();
    await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor();
    const download = page.waitForEvent('download');
    const file = page.getByRole('button', { name: /export|csv/i });
    await file.first().click();
    const csv = await readFile(await (await download).path(), 'utf8');
    day.push({ step: 'pay: the cost as a file', clicks: 2, commands: 0, seconds: secondsSince(startedAt) });
    expect(csv).toContain('shop');
    expect(csv.split('\n')[0]).toContain('total_usd');
  });
});

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}

function dayTable(day: readonly Step[]): string {
  const sum = (name: 'clicks' | 'commands' | 'seconds') => day.reduce((total, step) => total + step[name], 0);
  const total = { step: 'the day', clicks: sum('clicks'), commands: sum('commands'), seconds: sum('seconds') };
  const rows = [...day, total].map(
    ({ step, clicks, commands, seconds }) => `| ${step} | ${clicks} | ${commands} | ${seconds.toFixed(1)} |\n`,
  );
  return `\n| Step | Clicks | Commands | Seconds |\n| --- | --- | --- | --- |\n${rows.join('')}`;
}

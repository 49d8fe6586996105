/** The log view of endpoints and pods. On simulated workers: their lines are put into the database. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatHint } from '../../src/db/hints.ts';
import { appendLogLines } from '../../src/domain/logs/append-log-lines.ts';
import { recognizeLevel } from '../../src/domain/logs/log-level.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('logs in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let id: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    id = await new Api(server).createEndpoint({ workers: { min: 0, max: 0 } });
    await database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, exited_at, created_at)
       select w, e.id, e.user_id, 1, '', '{}', 'EXITED', now(), now() - interval '1 hour'
       from endpoints e, unnest(array['workera', 'workerb']) w where e.id = $1`,
      [id],
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

  async function write(worker: string, lines: readonly string[]): Promise<void> {
    const stored = lines.map((line) => ({
      workloadId: worker,
      ts: new Date(),
      source: 'container' as const,
      line,
      level: recognizeLevel(line, null),
    }));
    await appendLogLines(database.pool, stored);
    await database.pool.query("select pg_notify('podyard', $1)", [formatHint('test', 'log', worker)]);
  }

  const log = () => page.getByRole('log');

  test('a log without a line says that it is connected, and shows lines of all workers as they come', async () => {
    await page.goto(`${server.url}/#/endpoints/${id}/logs`);
    await log().getByText('Nothing was logged yet.').waitFor();
    await write('workera', ['INFO up', 'ERROR CUDA out of memory']);
    await write('workerb', ['WARN cuda is slow']);
    await log().getByText('INFO up').waitFor();
    await log().getByText('workerb').waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('search and level are applied on the server, kept in the URL, and to new lines too', async () => {
    await page.getByRole('textbox', { name: 'Search the log' }).fill('cuda');
    await log().getByText('INFO up').waitFor({ state: 'detached' });
    await expect.poll(() => log().locator('mark').allTextContents()).toEqual(['CUDA', 'cuda']);
    await page.getByRole('combobox', { name: 'Level' }).click();
    await page.getByRole('option', { name: 'Errors', exact: true }).click();
    await expect.poll(() => log().locator('.log-line').count()).toBe(1);
    expect(page.url()).toMatch(/q=cuda&level=ERROR$/);
    await write('workerb', ['ERROR no CUDA device', 'INFO cuda']);
    await log().getByText('no CUDA device').or(log().getByText('ERROR no')).first().waitFor();
    expect(await log().locator('.log-line').count()).toBe(2);
    await page.reload();
    await expect.poll(() => log().locator('.log-line').count()).toBe(2);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await log().getByText('INFO up').waitFor();
  });

  test('one worker, also one that ended, by name in the URL', async () => {
    await page.getByRole('combobox', { name: 'Worker' }).click();
    await page.getByRole('option', { name: /workerb/ }).click();
    await log().getByText('INFO up').waitFor({ state: 'detached' });
    expect(page.url()).toMatch(/worker=workerb$/);
    await expect.poll(() => log().locator('.log-line').count()).toBe(3);
  });

  test("a job's lines are those of its worker while it ran", async () => {
    const { id: jobId } = await new Api(server).call<{ id: string }>('POST', `/v2/${id}/run`, { input: 1 });
    await write('workera', ['before the job']);
    await database.pool.query("update log_lines set ts = now() - interval '10 s', stored_at = now() - interval '10 s'");
    await database.pool.query(
      `update jobs set status = 'IN_PROGRESS', worker_id = 'workera', started_at = now() where id = $1`,
      [jobId],
    );
    await write('workera', [JSON.stringify({ requestId: jobId, message: 'from the job', level: 'INFO' }), 'unnamed']);
    await page.goto(`${server.url}/#/endpoints/${id}/logs?job=${jobId}`);
    await log().getByText('unnamed').waitFor();
    await expect.poll(() => log().locator('.log-line').count()).toBe(2);
    expect(await log().locator('mark').textContent()).toBe(jobId);
    await page.getByRole('button', { name: 'Only lines that name it' }).click();
    await log().getByText('unnamed').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Show all logs' }).click();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await log().getByText('before the job').waitFor();
    await database.pool.query('delete from jobs where id = $1', [jobId]);
  });

  test('a log can be paused, wrapped and downloaded', async () => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await write('workera', ['while paused']);
    await page.getByRole('button', { name: 'Resume (1 new)' }).click();
    await log().getByText('while paused').waitFor();
    await page.getByRole('button', { name: 'Wrap' }).click();
    await write('workera', [`wide ${'word '.repeat(400)}`]);
    await log().getByText('wide word').waitFor();
    expect(await log().evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Wrap' }).click();
    // The browser's own file system stands in for the dialog, which a test cannot answer.
    await page.evaluate(`window.showSaveFilePicker = async ({ suggestedName }) =>
      (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`);
    await page.getByRole('button', { name: 'Download' }).click();
    const saved = () =>
      page.evaluate<string>(`navigator.storage.getDirectory()
        .then((folder) => folder.getFileHandle('${id}.log'))
        .then(async (handle) => (await handle.getFile()).text(), () => '')`);
    await expect.poll(saved).toMatch(/ workera while paused\n/);
  });

  test('a line of a worker kit is its level, job and message, with a traceback that can be folded and copied', async () => {
    const error = 'ZeroDivisionError: no';
    const traceback = `Traceback (most recent call last):\n  File "worker.py", line 3, in handler\n    1 / 0\n${error}`;
    const stack = Array.from({ length: 30 }, (_, n) => `    at step${n} (worker.js:${n}:1)`).join('\n');
    const { id: jobId } = await new Api(server).call<{ id: string }>('POST', `/v2/${id}/run`, { input: 7 });
    const short = `${jobId.slice(0, 8)}…${jobId.slice(-11)}`;
    await write('workera', [
      JSON.stringify({ requestId: jobId, message: error, level: 'ERROR', traceback }),
      JSON.stringify({ requestId: 'job-8', message: `TypeError: deep\n${stack}`, level: 'ERROR' }), // of an older kit
      JSON.stringify({ requestId: null, message: 'after the tracebacks', level: 'INFO' }),
      '{"a":"result"}',
    ]);
    const rows = log().locator('.log-row');
    const python = rows.filter({ hasText: short });
    const javascript = rows.filter({ hasText: 'job-8' });
    const heightOf = async (row: typeof rows) => (await row.boundingBox())!.height;
    await log().getByText('{"a":"result"}').waitFor();
    const said = async (row: typeof rows) =>
      (await row.locator('.log-line').textContent())!.replace(/^\S+ workera /, '');
    expect(await said(rows.filter({ hasText: 'after the tracebacks' }))).toBe('INFO after the tracebacks ');
    expect(await said(python)).toBe(`ERROR ${short} ${error} ${traceback}`);
    expect(await heightOf(python)).toBe(5 * 20);
    // Folded, a traceback is its error. A long one is folded at first.
    await python.getByRole('button', { name: `5 lines: ${error}` }).press('Enter');
    await expect.poll(() => heightOf(python)).toBe(20);
    expect(await said(python)).toBe(`ERROR ${short} ${error} 5 lines`);
    expect(await heightOf(javascript)).toBe(20);
    await javascript.getByRole('button', { name: '31 lines: TypeError: deep', expanded: false }).click();
    await javascript.getByText('at step29').waitFor();
    await expect.poll(() => heightOf(javascript)).toBe(31 * 20);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await python.getByRole('button', { name: 'Copy these lines' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(traceback);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Wrap' }).click();
    await expect.poll(() => heightOf(javascript)).toBeGreaterThanOrEqual(31 * 20);
    await page.getByRole('button', { name: 'Wrap' }).click();
    // To the job, and back.
    await python.getByRole('link', { name: short }).press('Enter');
    await page.getByRole('dialog').getByText(jobId).first().waitFor();
    expect(page.url()).toContain(`/endpoints/${id}/jobs?job=${jobId}`);
    await page.goBack();
    await log().getByText('{"a":"result"}').waitFor();
    await database.pool.query('delete from jobs where id = $1', [jobId]);
  });

  test('5,000 lines scroll, and 1,000 a second come in, without a long task that a reader would notice', async () => {
    for (let n = 0; n < 5; n++)
      await write(
        'workerb',
        Array.from({ length: 1_000 }, (_, i) => `line ${n * 1_000 + i} ${'x'.repeat(80)}`),
      );
    await page.reload();
    await log().getByText('line 4999').waitFor();
    for (let n = 0; n < 4; n++) {
      await log().evaluate((box) => box.scrollTo(0, 0));
      const oldest = await log().locator('[data-index="0"]').textContent();
      await page.getByRole('button', { name: 'Load older lines' }).click();
      await expect.poll(() => log().evaluate((box) => box.scrollHeight)).toBeGreaterThan((n + 2) * 500 * 20 - 1);
      // The reader's lines are still in view.
      await log()
        .getByText(/line \d+/.exec(oldest!)![0], { exact: false })
        .first()
        .waitFor();
    }
    await expect.poll(() => log().locator('.log-line').count()).toBeLessThan(150);
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await page.evaluate(`window.tasks = [];
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });`);
    for (let n = 0; n < 30; n++) {
      const next = new Promise((resolve) => setTimeout(resolve, 100));
      await write(
        'workera',
        Array.from({ length: 100 }, (_, i) => `live ${n * 100 + i}`),
      );
      await next;
    }
    await log().getByText('live 2999').waitFor();
    const tasks = await page.evaluate<number[]>('tasks');
    console.log(
      `long tasks within 3 s at 1,000 lines a second: ${tasks.length}, longest ${Math.max(0, ...tasks)} ms, together ${tasks.reduce((a, b) => a + b, 0)} ms`,
    );
    // The browser itself has to wait on a machine with other work: a page that draws all its lines is slow each time.
    expect(tasks.filter((ms) => ms >= 200).length).toBeLessThanOrEqual(3);
  });

  test('dark and narrow screens', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await violationsOf(page)).toEqual([]);
    if (process.env.PODYARD_SHOTS) await page.screenshot({ path: `${process.env.PODYARD_SHOTS}/logs-dark.png` });
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    if (process.env.PODYARD_SHOTS) await page.screenshot({ path: `${process.env.PODYARD_SHOTS}/logs-390.png` });
  });
});

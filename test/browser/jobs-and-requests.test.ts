/** Jobs by link and the request panel of an endpoint's page, with workers that are processes. */
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDevPage } from '../../src/cli/dev/dev-page.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

/** Imitates a worker that serves a chat model: it streams the last message back, word by word. */
const CHAT_WORKER = `
  import { start } from './podyard-worker.js';
  const event = (data) => 'data: ' + (typeof data === 'string' ? data : JSON.stringify(data)) + '\\n\\n';
  await start({ handler: async function* ({ input, signal }) {
    const { messages, temperature } = input.openai_input;
    const text = messages.at(-1).content;
    if (text === 'fail') throw new Error('CUDA out of memory');
    const prompt = messages[0].role === 'system' ? '[' + messages[0].content + ' ' + temperature + '] ' : '';
    for (const content of (prompt + text).split(/(?<= )/)) {
      if (signal.aborted) return;
      yield event({ choices: [{ delta: { content } }] });
      if (text.startsWith('slowly')) await new Promise((resolve) => setTimeout(resolve, 60));
    }
    yield event('[DONE]');
  } });`;

const SCREENSHOTS = fileURLToPath(new URL('../../test-results/console/', import.meta.url));

describe.skipIf(!hasBrowser)('jobs and requests', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let api: Api;
  let browser: Browser;
  let page: Page;
  let [echo, web, chat] = ['', '', ''];
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, gpus: 'ADA_24:4' });
    api = new Api(server);
    const workers = { min: 1, max: 1 };
    echo = await api.createEndpoint({ name: 'echo', workers });
    web = await api.createEndpoint({ name: 'web', workers, type: 'LOAD_BALANCING', image: 'podyard/web-js:dev' });
    const args = JSON.stringify({ entrypoint: ['node', '--input-type=module', '-e', CHAT_WORKER] });
    chat = await api.createEndpoint({ name: 'llm', workers, args, env: { MODEL_NAME: 'acme/tiny' } });
    browser = await launchBrowser();
    page = await openPage(browser, { complaints, expected: /status of [45]/ });
    await signIn(page, server);
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  const open = (path: string) => page.goto(`${server.url}/#/endpoints/${path}`);
  const shot = (name: string) => page.screenshot({ path: `${SCREENSHOTS}${name}.png` });

  /** In the light scheme on a wide screen, and in the dark one on a phone. */
  async function everyScheme(name: string): Promise<void> {
    await page.emulateMedia({ colorScheme: 'light' });
    await shot(`${name}-wide`);
    expect(await violationsOf(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    await shot(`${name}-390`);
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
  }

  test('an idle worker is drawn in the color of idle ones, from its first second and under the pointer', async () => {
    await until('a worker is idle', async () => (await api.workers(echo)).some(({ status }) => status === 'IDLE'));
    await page.mouse.move(0, 0); // not on the chart yet
    await open(`${echo}?range=live`);
    const chart = page.getByRole('img', { name: 'Workers by status over time' });
    const dots = `[...document.querySelectorAll('[aria-label="Workers by status over time"] circle')]
      .map((circle) => circle.getAttribute('fill'))`;
    let first: string[] = [];
    await until('the first sample is drawn', async () => {
      first = await page.evaluate<string[]>(dots);
      return first.length > 0;
    });
    const colorOf = (label: string) =>
      chart.locator('.recharts-legend-item', { hasText: label }).locator('path').first().getAttribute('fill');
    const idle = await colorOf('Idle');
    expect(first).toEqual([idle]);
    expect(idle).not.toBe(await colorOf('Unhealthy'));
    await expect.poll(() => page.evaluate(dots)).toEqual([]); // from the second sample on it is an area
    await chart.hover();
    await page.locator('.chart-value', { hasText: 'Idle' }).getByText('1', { exact: true }).waitFor();
    await expect.poll(() => page.evaluate(dots)).toEqual([idle]);
  });

  test('a worker that runs says what it uses', async () => {
    await open(echo);
    await page.getByRole('table', { name: 'Workers' }).getByRole('button').first().click();
    const worker = page.getByRole('dialog');
    await worker.getByRole('progressbar', { name: 'Memory', exact: true }).waitFor();
    expect(await worker.getByRole('progressbar', { name: 'CPU' }).getAttribute('aria-valuenow')).toMatch(/^\d+/);
    await shot('worker-usage');
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await worker.waitFor({ state: 'detached' });
  });

  test('a paused endpoint shows how many jobs its queue takes, and why; the refusal says the same', async () => {
    const id = await api.createEndpoint({ name: 'resting', workers: { min: 0, max: 0 } });
    await open(id);
    await page.getByText('of 50', { exact: true }).waitFor();
    await page
      .getByText(/^Queued jobs wait\. The limit is 50 with workers\.max 0, which pauses the endpoint/)
      .waitFor();
    await Promise.allSettled(Array.from({ length: 60 }, () => api.run(id, 1))); // the last are refused
    await page.getByText('The queue is full: new jobs are refused.').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await expect(api.run(id, 1)).rejects.toThrow(/the limit is 50 with workers\.max 0, which pauses the endpoint/);
    await page.goto(`${server.url}/#/limits`);
    await page.getByText('500 jobs for each worker of max workers, and 50 while it is paused').waitFor();
    await api.delete(id);
  });

  test('a job is found by its error, opened by link, explained and run again with changes', async () => {
    const failing = await api.run(echo, { echo: 'x', throw: 'CUDA out of memory' });
    const fine = await api.run(echo, { bytes: 100_000, note: 12_345 });
    await api.call('GET', `/v2/${echo}/status-sync/${fine.id}`);
    await open(`${echo}/jobs`);
    const rows = page.getByRole('region', { name: 'Jobs' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(3);
    await everyScheme('jobs');
    await page.getByRole('textbox', { name: 'Error contains' }).fill('out of MEMORY');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('link', { name: failing.id.slice(-11) }).click();
    const drawer = page.getByRole('dialog', { name: 'Job' });
    await drawer.getByRole('alert').getByText('CUDA out of memory').waitFor();
    await drawer.getByText(`"throw": "CUDA out of memory"`).waitFor();
    await drawer.getByText('Ran', { exact: true }).waitFor();
    await drawer.getByText('Result expires').waitFor();
    await everyScheme('job');
    const link = page.url();
    expect(link).toContain('error=out');
    expect(link).toContain(`job=${failing.id}`);
    expect(link).not.toContain(server.key);

    await drawer.getByRole('button', { name: 'Edit and run' }).click();
    const form = page.getByRole('dialog', { name: 'Edit and run as a new job' });
    await form.getByRole('textbox', { name: 'New input' }).fill('{"echo": {"big": 12345678901234567890}}');
    await form.getByRole('button', { name: 'Run as a new job' }).click();
    await drawer.getByText('Completed, result stored').waitFor();
    await drawer.getByRole('region', { name: 'Input' }).getByText('12345678901234567890').waitFor();
    expect(page.url()).not.toContain(failing.id);

    await page.reload();
    await drawer.getByText('Completed, result stored').waitFor();
    await open(`${echo}/jobs?job=${fine.id}`);
    await drawer.getByRole('button', { name: 'Load 100 kB' }).click();
    await drawer.getByRole('region', { name: 'Output' }).waitFor();
    await open(`${echo}/jobs?job=nosuchjob`);
    await drawer.getByText('does not exist, or its result has expired').waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });

  test('a waiting job says what it waits for; it is cancelled, or the queue is purged', async () => {
    const blocking = await api.run(echo, { delayMs: 600_000 });
    const [first, second] = [await api.run(echo, 1), await api.run(echo, 2)];
    await open(`${echo}/jobs?job=${second.id}`);
    const drawer = page.getByRole('dialog', { name: 'Job' });
    await drawer.getByText('1 job comes first.').waitFor();
    await shot('job-waits');
    await open(`${echo}/jobs?job=${first.id}`);
    await drawer.getByText('It is next in the queue.').waitFor();
    await open(`${echo}/jobs?job=${blocking.id}`);
    await drawer.getByText('Running', { exact: true }).waitFor();
    await drawer.getByRole('button', { name: 'Cancel job' }).click();
    await drawer.getByRole('button', { name: 'Cancel it for good' }).click();
    await drawer.getByText('Cancelled', { exact: true }).first().waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await api.run(echo, { delayMs: 600_000 });
    await api.run(echo, 3);
    await page.getByRole('button', { name: 'Purge queue' }).click();
    await page.getByRole('button', { name: 'Cancel queued jobs' }).click();
    await page.getByText(/Cancelled \d queued jobs?\./).waitFor();
  });

  test('a request shows its stream as it comes, a readable error, and stays in the history', async () => {
    await api.call('POST', `/v2/${echo}/purge-queue`);
    const { requests } = await api.call<{ requests: { id: string }[] }>('GET', `/v2/${echo}/requests`);
    for (const { id } of requests) await api.call('POST', `/v2/${echo}/cancel/${id}`);
    await open(`${echo}/request`);
    const input = page.getByRole('textbox', { name: 'Input' });
    await input.fill('{"stream": 40, "delayMs": 150, "echo": "é😀"}');
    await page.getByRole('button', { name: 'Run job' }).click();
    const stream = page.getByRole('region', { name: 'Stream' });
    await stream.getByText('"index":2').waitFor();
    expect(await page.getByText('Completed', { exact: true }).count()).toBe(0);
    await stream.getByText('"index":39').waitFor();
    await page.getByText('Completed', { exact: true }).first().waitFor();
    await everyScheme('request');
    await input.fill('{"throw": "no such voice"}');
    await page.getByRole('button', { name: 'Run job' }).click();
    await page.getByRole('alert').getByText('no such voice').waitFor();
    await shot('request-error');
    await page.reload();
    const recent = page.getByRole('region', { name: 'Recent requests' });
    await recent.getByRole('link', { name: 'Failed' }).waitFor();
    await recent.getByRole('button', { name: /Use again: .*"stream": 40/ }).click();
    expect(await input.inputValue()).toContain('é😀');
    const stored = await page.evaluate(() => JSON.stringify(localStorage));
    expect(stored).not.toContain(server.key);
  });

  test('an HTTP request has a method, headers and a body; its answer streams and can be cancelled', async () => {
    await open(web);
    const live = page.locator('.live-strip');
    await live.getByText('Workers', { exact: true }).waitFor();
    expect(await live.locator('dt').allTextContents()).toEqual(['Queued', 'Running', 'Workers']); // jobs are none
    await open(`${web}/request`);
    await page.getByRole('textbox', { name: 'Path' }).fill('/events?count=200&delayMs=50');
    await page.getByRole('button', { name: 'Send request' }).click();
    await page.getByText(/^Status 200 .*receiving$/).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText(/not complete$/).waitFor();
    await page.getByRole('combobox', { name: 'Method' }).click();
    await page.getByRole('option', { name: 'POST' }).click();
    await page.getByRole('textbox', { name: 'Path' }).fill('/status/401');
    await page.getByRole('button', { name: 'Add header' }).click();
    await page.getByRole('textbox', { name: 'Name of header 1' }).fill('X-Api-Key');
    await page.getByRole('textbox', { name: 'Value of header 1' }).fill('sesame');
    await page.getByRole('textbox', { name: 'Body' }).fill('{"a": 1}');
    await page.getByText("-H 'x-api-key: sesame'").waitFor();
    await page.getByRole('button', { name: 'Send request' }).click();
    await page.getByText(/^Status 401 in .* from worker/).waitFor(); // of the worker, and nobody is signed out
    await page.getByText('"x-api-key": "sesame"').waitFor();
    await everyScheme('http');
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('sesame');
  });

  test('a model is talked to: streamed, stopped, and with its error in words', async () => {
    await open(`${chat}/request`);
    await page.getByRole('textbox', { name: 'System prompt' }).fill('be kind');
    await page.getByRole('textbox', { name: 'Temperature' }).fill('0.5');
    const message = page.getByRole('textbox', { name: 'Message' });
    await message.fill('hello there');
    await message.press('Enter');
    const conversation = page.getByRole('log', { name: 'Conversation' });
    await conversation.getByText('[be kind 0.5] hello there').waitFor();
    await everyScheme('chat');
    await message.fill(`slowly ${'and more '.repeat(300)}`);
    await page.getByRole('button', { name: 'Send' }).click();
    await conversation.getByText(/\] slowly and more/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await message.fill('fail');
    await message.press('Enter');
    await page.getByRole('alert').getByText('CUDA out of memory').waitFor();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByText('Job', { exact: true }).click();
    await page.getByRole('button', { name: 'Run job' }).waitFor();
  });

  test('the page of dev sends jobs, streams, and shows texts of jobs as texts', async () => {
    const dev = await openDevPage(server, { id: echo, name: '<img src=x onerror=alert(1)>', type: 'QUEUE' });
    const served = await openDevPage(server, { id: web, name: 'web', type: 'LOAD_BALANCING' });
    try {
      await page.goto(dev.url);
      await page.getByRole('heading', { name: '<img src=x onerror=alert(1)>' }).waitFor();
      const input = page.getByRole('textbox', { name: 'Input of the job' });
      const [result, state] = [page.getByRole('region', { name: 'Result' }), page.getByRole('status')];
      await input.fill('{"a": ');
      await page.getByRole('button', { name: 'Send' }).click();
      await state.getByText('The input is not JSON').waitFor();
      await input.fill('{"echo": "<b id=bold>é😀</b>"}');
      await input.press('Control+Enter');
      await state.getByText(/COMPLETED, \d+ ms/).waitFor();
      await result.getByText('<b id=bold>é😀</b>').waitFor();
      expect(await page.locator('#bold').count()).toBe(0);
      await input.fill('{"stream": 3}');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('region', { name: 'Stream' }).getByText('"index": 2').waitFor();
      await state.getByText('COMPLETED').waitFor();
      await input.fill('{"throw": "no such voice"}');
      await page.getByRole('button', { name: 'Send' }).click();
      await result.getByText('no such voice').waitFor();
      await page.getByRole('log', { name: 'Log' }).getByText('no such voice').first().waitFor();
      await everyScheme('dev');
      await page.goto(served.url);
      await page.getByRole('textbox', { name: 'Path' }).fill('/status/404');
      await page.getByRole('button', { name: 'Send' }).click();
      await state.getByText('Status 404').waitFor();
    } finally {
      await page.goto('about:blank');
      dev.close();
      served.close();
    }
  });
});

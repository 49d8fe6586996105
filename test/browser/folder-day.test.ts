/**
 * A day with a folder, on a real terminal and in the console at the same time: init, deploy, change a line, break it, read why, roll back,
 * and dev with a save. Each thing that happens is seen on both screens.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { findProcesses } from '../find-processes.ts';
import { packageMirrors } from '../package-mirrors.ts';
import { hasTmux, RealTerminal } from '../real-terminal.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn } from './console-page.ts';

describe.skipIf(!hasBrowser || !hasTmux)('a day with a folder', { timeout: 120_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let home: string;
  let terminal: RealTerminal;
  const complaints: string[] = [];

  beforeAll(async () => {
    [database, home, browser] = await Promise.all([
      createTestDatabase(),
      mkdtemp(join(tmpdir(), 'podyard-day-')),
      launchBrowser(),
    ]);
    server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env: packageMirrors() });
    terminal = new RealTerminal(home, { PODYARD_URL: server.url, PODYARD_API_KEY: server.key });
    page = await openPage(browser, { complaints });
    await signIn(page, server);
  });
  afterAll(async () => {
    terminal?.close();
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    await rm(home, { recursive: true, force: true });
    expect(complaints).toEqual([]);
  });

  const main = () => page.getByRole('main');
  async function open(name: string): Promise<void> {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  }
  async function openReleases(): Promise<void> {
    await open('Endpoints');
    await main().getByRole('link', { name: 'hello', exact: true }).click();
    await openTab(page, 'Releases');
  }
  const release = (version: number) =>
    page.getByRole('tabpanel', { name: 'Releases' }).getByText(`Version ${version}`, { exact: true });
  /** Changes a file of the folder as an editor does. */
  async function edit(name: string, change: (text: string) => string): Promise<void> {
    const file = join(home, 'hello', name);
    await writeFile(file, change(await readFile(file, 'utf8')));
  }
  const hello = () => terminal.type(`podyard run hello '{"name": "Ada"}'`);

  test('an empty folder becomes an endpoint, whose build and release come up in the console', async () => {
    await open('Builds');
    await main().getByText('No builds yet').waitFor();
    const written = await terminal.type('mkdir hello && cd hello && podyard init --template javascript');
    expect(written).toContain('`podyard deploy` makes an endpoint of it.');
    const deployed = terminal.begin('podyard deploy');
    const build = main().getByRole('row', { name: /hello/ });
    await build.getByText('Completed').waitFor();
    const shown = await deployed();
    expect(shown).toContain('+ image  to build: default of handler.js, no dependencies');
    expect(shown).toContain('Version 1 is rolled out');
    await openReleases();
    await main().getByText('Initial release').waitFor();
    expect(await hello()).toContain('Hello, Ada!');
    expect(await terminal.type('podyard deploy')).toContain('Nothing changed: hello');
  });

  test('a changed line is the next version', async () => {
    await edit('handler.js', (text) => text.replace('Hello', 'Goodbye'));
    const deployed = terminal.begin('podyard deploy');
    await release(2).waitFor();
    expect(await deployed()).toContain('Version 2 is rolled out');
    expect(await hello()).toContain('Goodbye, Ada!');
  });

  test('a build that fails says why on the terminal, and on its page', async () => {
    const dependencies = { 'is-number': '999.0.0' };
    await edit('package.json', (text) => JSON.stringify({ ...JSON.parse(text), dependencies }));
    await open('Builds');
    const deployed = terminal.begin('podyard deploy');
    const build = main().getByRole('row', { name: /hello.*Failed/ });
    await build.getByRole('link', { name: 'hello', exact: true }).click();
    const shown = await deployed(9);
    const [, id] = /build (\w+) failed: Step 'Install dependencies \(package\.json\)' failed/.exec(shown)!;
    expect(shown).toContain('Nothing was changed');
    await page.waitForURL(`**/#/builds/${id}`);
    const why = (await main().getByRole('alert').locator('.mantine-Alert-title').textContent())!;
    expect(why).toContain('is-number@999.0.0');
    expect(shown).toContain(why);
    await page.getByRole('log').locator('mark').getByText(why).first().waitFor();
    expect(await hello()).toContain('Goodbye, Ada!');
  });

  test('a release that fails its trial says why on both, while the one before serves', async () => {
    await edit('package.json', (text) => JSON.stringify({ ...JSON.parse(text), dependencies: {} }));
    await edit('handler.js', (text) => `${text}throw new Error('the model is missing');\n`);
    await openReleases();
    const deployed = terminal.begin('podyard deploy');
    const failure = main()
      .getByRole('alert')
      .filter({ hasText: 'Version 3 failed its trial. Version 2 goes on serving.' });
    await failure.getByText('the model is missing').waitFor();
    const shown = await deployed(8);
    expect(shown).toMatch(/version 3 failed its trial: .*\n(?:.*\n)*?.*the model is missing/);
    expect(shown).toContain('To roll back:     podyard rollback hello');
    expect(await terminal.type('podyard logs hello')).toContain('the model is missing');
    expect(await hello()).toContain('Goodbye, Ada!');
  });

  test('rolled back, the failure is gone from both', async () => {
    expect(await terminal.type('podyard rollback hello')).toContain('Version 4 is rolled out');
    await release(4).waitFor();
    await main().getByRole('alert').waitFor({ state: 'detached' });
    expect(await hello()).toContain('Goodbye, Ada!');
  });

  test('dev: what is saved answers the next job of its page, and Ctrl-C ends it', async () => {
    await edit('handler.js', (text) => text.replace(/^throw.*\n/m, ''));
    terminal.send('clear; podyard dev --port 0', 'Enter');
    const shown = await until('dev serves', async () =>
      terminal.screen.includes('Ctrl-C ends it') ? terminal.screen : undefined,
    );
    const [, url] = /Page to send jobs from: (\S+)/.exec(shown)!;
    const local = await openPage(browser, { complaints });
    await local.goto(url!);
    await local.getByRole('heading', { name: 'hello' }).waitFor();
    await local.getByRole('textbox', { name: 'Input of the job' }).fill('{"name": "Ada"}');
    const answer = async () => {
      await local.getByRole('button', { name: 'Send' }).click();
      await local.getByRole('status').getByText('COMPLETED').waitFor();
      return local.getByRole('region', { name: 'Result' }).textContent();
    };
    expect(await answer()).toContain('Goodbye, Ada!');
    await edit('handler.js', (text) => text.replace('Goodbye', 'Good night'));
    const change = '… handler.js has changed: running the new code';
    await until('the change is said', async () => terminal.screen.includes(change));
    await local.getByRole('log').getByText('handler.js has changed').waitFor();
    await until('the new code answers', async () => (await answer())?.includes('Good night, Ada!'));
    await local.close();
    terminal.send('C-c');
    await until('the prompt is back', async () => terminal.screen.trimEnd().endsWith('$'));
    await until('no worker stays', async () => findProcesses(join(home, 'hello')).length === 0);
  });
});

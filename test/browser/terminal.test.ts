import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('a terminal in the browser', { timeout: 300_000 }, () => {
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let podId: string;
  const problems: string[] = [];

  beforeAll(async () => {
    server = await ServerProcess.start({ runtime: 'process' });
    const api = new Api(server);
    const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
      name: 'box',
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['sleep', '600'] }),
      // Without the settings of whoever runs the test: a shell that was killed while it read them can hold up the next one.
      env: { ENV: '', PS1: '$ ', HOME: '/nonexistent' },
      cpu: { id: 'cpu3c', vcpuCount: 2 },
    });
    podId = pod.id;
    const path = `/v2/pods/${podId}`;
    await until('the pod runs', async () => (await api.call<{ status: string }>('GET', path)).status === 'RUNNING');
    browser = await launchBrowser();
    page = await openPage(browser, { width: 1200, complaints: problems, expected: /40\d/ });
    await signIn(page, server);
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  /** Returns the screen's text, in the order in which people read it. */
  const screen = async () => {
    const lines = await page.locator('.xterm-rows > div').allTextContents();
    return lines.join('\n').replaceAll('\u00a0', ' ');
  };
  const shows = (text: string) => until(`the screen shows ${text}`, async () => (await screen()).includes(text));
  const type = (text: string) => page.keyboard.type(text);
  const paste = (text: string) =>
    page.evaluate(
      `document.querySelector('.xterm-helper-textarea').dispatchEvent(Object.assign(new Event('paste', { bubbles: true, cancelable: true }), { clipboardData: { getData: () => ${JSON.stringify(text)} } }))`,
    );

  test('keys, characters and the size of the window reach the shell; its end and its record are shown', async () => {
    const scripts: string[] = [];
    page.on('request', (request) => void (request.resourceType() === 'script' && scripts.push(request.url())));
    await page.goto(`${server.url}/#/pods/${podId}/terminal`);
    const button = page.getByRole('button', { name: 'Open a terminal' });
    await button.waitFor();
    expect(scripts.filter((url) => url.includes('terminal-screen'))).toEqual([]); // loaded only when opened
    await button.click();
    await page.locator('.xterm-rows').waitFor();
    expect(scripts.filter((url) => url.includes('terminal-screen'))).toHaveLength(1);
    await shows('# ');
    await paste('echo "žluť 🦄 $((40 + 2))"');
    await type('\n');
    await shows('žluť 🦄 42');
    await type('clear; stty size\n');
    const sizes = async () => [...(await screen()).matchAll(/^(\d+) (\d+)$/gm)].map(([, , columns]) => Number(columns));
    await until('the size is known', async () => (await sizes()).length > 0);
    const [wide] = await sizes();
    await page.setViewportSize({ width: 700, height: 900 });
    await until('the shell has the new width', async () => {
      await type('stty size\n');
      return (await sizes()).some((columns) => columns < wide! - 20);
    });
    await type('exit 3\n');
    await page.getByText('The program ended with exit code 3.').first().waitFor();
    const row = page.getByRole('table', { name: 'Sessions' }).getByRole('row', { name: /admin.*127\.0\.0\.1/ });
    await row.first().waitFor();
    await until('it says how it ended', async () => /Exit code 3/.test((await row.first().textContent()) ?? ''));
    expect(problems).toEqual([]); // the page's policy refused nothing
  });

  test('nothing is inaccessible, in light, dark and on a phone', async () => {
    for (const [colorScheme, width] of [
      ['light', 1200],
      ['dark', 1200],
      ['dark', 390],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      const isCut = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
      expect({ violations: await violationsOf(page), isCut }).toEqual({ violations: [], isCut: false });
    }
    await page.setViewportSize({ width: 1200, height: 900 });
  });

  test('a phone has the keys that its keyboard lacks', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Open another one' }).click();
    await shows('# ');
    const keys = page.getByRole('toolbar', { name: 'Keys' });
    await type('echo $((50 + 6))\n');
    await shows('56');
    await keys.getByRole('button', { name: 'Up' }).click(); // the last command again
    await type('0\n');
    await type('cat\n');
    await keys.getByRole('button', { name: 'Ctrl' }).click();
    await type('c');
    await shows('^C');
    expect(await keys.getByRole('button', { name: 'Ctrl' }).getAttribute('aria-pressed')).toBe('false');
    await type('echo $((50 + 7))\n');
    await shows('57');
    for (const key of await keys.getByRole('button').all()) {
      const { width, height } = (await key.boundingBox())!;
      expect(Math.min(width, height)).toBeGreaterThanOrEqual(44);
    }
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByRole('button', { name: 'Open a terminal' }).waitFor();
    await page.setViewportSize({ width: 1200, height: 900 });
  });

  test('a terminal whose server goes away says so, and another one can be opened when it is back', async () => {
    await page.getByRole('button', { name: 'Open a terminal' }).click();
    await shows('# ');
    await type('echo $((20 + 3))\n');
    await shows('23');
    await server.stop();
    await server.start();
    await page
      .getByText(/The session ended: (the connection to the server was lost|the server is stopping)/)
      .first()
      .waitFor();
    const again = page.getByRole('button', { name: 'Open another one' });
    await until('the server answers', async () => {
      if (await again.isVisible()) await again.click();
      return page.getByRole('button', { name: 'End' }).isVisible();
    });
    await shows('# ');
    await type('echo $((20 + 4))\n');
    await shows('24');
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByRole('button', { name: 'Open a terminal' }).waitFor();
  });
});

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

/** Serves a page that opens a WebSocket to its own origin and says when it is open. */
const PROGRAM = `
const { createHash } = require('node:crypto');
const { createServer } = require('node:http');
const page = "<!doctype html><title>notebook</title><p id=state>waiting</p><script>" +
  "new WebSocket('ws://' + location.host + '/ws').onopen = () => (state.textContent = 'socket open')</script>";
const server = createServer((req, res) => res.setHeader('content-type', 'text/html').end(page));
server.on('upgrade', (req, socket) => {
  socket.on('error', () => {});
  const key = req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n' +
    'Sec-WebSocket-Accept: ' + createHash('sha1').update(key).digest('base64') + '\\r\\n\\r\\n');
});
server.listen(Number(process.env.WEB_PORT), '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;

describe.skipIf(!hasBrowser)('a private pod in a browser', { timeout: 300_000 }, () => {
  let server: ServerProcess;
  let browser: Browser;
  let api: Api;
  let podId: string;
  let url: string;

  beforeAll(async () => {
    server = await ServerProcess.start({ runtime: 'process' });
    const port = await freePort();
    api = new Api(server);
    const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
      name: 'notebook',
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['node', '-e', PROGRAM] }),
      ports: [`${port}/http`],
      env: { WEB_PORT: String(port) },
      cpu: { id: 'cpu3c', vcpuCount: 2 },
    });
    podId = pod.id;
    url = `http://${pod.id}-${port}.localhost:${new URL(server.url).port}/`;
    browser = await launchBrowser();
    const page = await browser.newPage();
    await until('the pod answers', async () => (await page.goto(url))?.status() === 200);
    await page.close();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  test('the console sets when it is stopped, and its switch makes it private', async () => {
    const console = await openPage(browser);
    await signIn(console, server);
    await console.getByRole('navigation').getByRole('link', { name: 'Pods' }).click();
    await console.getByRole('link', { name: 'notebook' }).click();
    const toggle = console.getByRole('switch', { name: 'Private' });
    await toggle.waitFor();
    expect(await toggle.isChecked()).toBe(false);
    await toggle.click();
    await until('it is private', async () => toggle.isChecked());
    await console.getByRole('button', { name: 'Set times' }).click();
    await console.getByLabel('Stop after').fill('2099-01-31T12:00');
    expect(await violationsOf(console)).toEqual([]);
    await console.getByRole('button', { name: 'Save', exact: true }).click();
    await console.getByText('Times set.').waitFor();
    const { stopAfter } = await api.call<{ stopAfter: string }>('GET', `/v2/pods/${podId}/lifetime`);
    expect(stopAfter).toBe(new Date(2099, 0, 31, 12).toISOString());
  });

  test.each(['light', 'dark'] as const)('a stranger signs in to the console on the way, in %s', async (colorScheme) => {
    await api.call('PUT', `/v2/pods/${podId}/access`, { private: true });
    const page = await openPage(browser, { colorScheme });
    expect((await page.goto(`${url}tree?a=1`))?.status()).toBe(401);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'Sign in with the console' }).click();
    await page.getByLabel('API key').fill(server.key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('socket open').waitFor();
    expect(page.url()).toBe(`${url}tree?a=1`);
    expect((await page.context().cookies(url)).map(({ name }) => name)).toEqual(['podyard_pod']);
    await page.reload();
    await page.getByText('socket open').waitFor();

    // A second time the console asks for nothing.
    await page.context().clearCookies({ name: 'podyard_pod' });
    await page.goto(url);
    await page.getByRole('link', { name: 'Sign in with the console' }).click();
    await page.getByText('socket open').waitFor();
  });

  test('the console says why it opens no pod', async () => {
    const page = await openPage(browser);
    await signIn(page, server);
    await page.goto(`${server.url}/#/open-pod?pod=nosuchpod&port=80&state=${'a'.repeat(43)}`);
    await page.getByRole('alert').getByText('You may open no private pod with this id and HTTP port.').waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });
});

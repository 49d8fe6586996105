/** Where notices go, in the console: an admin, in both themes. On simulated workers: nothing of it needs a real one. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('notices in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let receiver: Server;
  let url: string;
  let status = 200;
  const received: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    receiver = createServer(async (req, res) => {
      received.push(Buffer.concat(await req.toArray()).toString());
      res.writeHead(status).end();
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const { port } = receiver.address() as AddressInfo;
    url = `http://127.0.0.1:${port}/hook`;
    database = await createTestDatabase();
    const env = { PODYARD_WEBHOOK_NETWORKS: `127.0.0.1:${port}` };
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url, env });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    receiver?.closeAllConnections();
    receiver?.close();
    expect(complaints).toEqual([]);
  });

  const expectAccessible = (page: Page) => expect.poll(() => violationsOf(page)).toEqual([]);

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'a destination is added, tested, looked at, switched off and removed, in %s mode at %i px',
    async (colorScheme, width) => {
      status = 200;
      await database.pool.query('delete from notice_destinations');
      const page = await openPage(browser, { width, colorScheme, complaints });
      await signIn(page, server);
      await page.goto(`${server.url}/#/notices`);
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      const dialog = page.getByRole('dialog');
      await page.getByText('Nobody is told yet').waitFor();
      await expectAccessible(page);
      await button('New destination').first().click();
      await dialog.getByLabel('Name').fill('chat');
      await dialog.getByRole('combobox', { name: 'Kind' }).click();
      await page.getByRole('option', { name: 'Webhook, signed' }).click();
      await dialog.getByLabel('URL').fill(url);
      await expectAccessible(page);
      await button('Create').click();
      await dialog.getByText(/^pyn_/).waitFor();
      await expectAccessible(page);
      await button('Done').click();
      await button('Send a test').click();
      await page.getByText('chat accepted the test.').waitFor();
      const [item] = JSON.parse(received.at(-1)!).items;
      expect([item.event, item.url.startsWith(`${server.url}/#/`)]).toEqual(['TEST', true]);
      status = 500;
      await button('Send a test').click();
      await page.locator('[data-row]').getByText('it was answered with status 500').waitFor();
      await page.getByText('Fails', { exact: true }).waitFor();
      await button('Deliveries').click();
      await dialog.getByText('Given up').waitFor();
      await dialog.getByText('Sent', { exact: true }).first().waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
      await button('Edit').click();
      await dialog.getByRole('switch', { name: 'On' }).click();
      await button('Save').click();
      await page.getByText('Off', { exact: true }).waitFor();
      await button('Delete chat').click();
      await dialog.getByRole('textbox').fill('chat');
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByText('Nobody is told yet').waitFor();
      await page.getByRole('tab', { name: 'The installation’s' }).click();
      await page.getByText('Add where to tell those who run').waitFor();
      await expectAccessible(page);
      await page.close();
    },
  );
});

/** The files of a network volume in the console. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

/** One red pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

describe.skipIf(!hasBrowser)('the files of a volume', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let volume: string;
  const complaints: string[] = [];

  const send = (method: string, path: string, body?: string | Buffer<ArrayBuffer>) =>
    fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    const made = await send('POST', '/v2/network-volumes', '{"name":"data","size":10,"dataCenter":"LOCAL-1"}');
    volume = ((await made.json()) as { id: string }).id;
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

  const upload = async (name: string, buffer: Buffer) => {
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    await page.getByText(`Uploaded ${name}.`).first().waitFor();
  };
  const read = async (key: string) => (await send('GET', `/s3/${volume}/${key}`)).text();

  test('an empty volume says how files come there; uploads appear, with their directories', async () => {
    await page.goto(`${server.url}/#/volumes`);
    await page.getByRole('link', { name: 'Files' }).click();
    await page.getByRole('heading', { name: 'No files here' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await upload('notes <b>.txt', Buffer.from('first line'));
    expect(await read('notes%20%3Cb%3E.txt')).toBe('first line');
    await send('PUT', `/s3/${volume}/deep/er/`);
    await page.reload();
    await page.getByRole('link', { name: 'deep/' }).click();
    await page.getByRole('link', { name: 'er/' }).click();
    await upload('dot.png', PNG);
    expect(await violationsOf(page)).toEqual([]);
    expect((await send('HEAD', `/s3/${volume}/deep/er/dot.png`)).headers.get('content-length')).toBe(
      String(PNG.length),
    );
  });

  test('texts and pictures are shown, and files downloaded', async () => {
    await page.getByRole('button', { name: 'dot.png', exact: true }).click();
    await page.getByRole('img', { name: 'dot.png' }).waitFor();
    await page.goBack(); // a file of another directory is not shown there
    await page.getByRole('img', { name: 'dot.png' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'er/' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download dot.png' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('dot.png');
    await page.getByLabel('Directory').getByRole('link', { name: 'data' }).click();
    await page.getByRole('button', { name: 'notes <b>.txt', exact: true }).click();
    await page.getByText('first line').waitFor();
    await page.keyboard.press('Escape');
  });

  test('a directory is deleted with everything in it', async () => {
    await page.getByRole('button', { name: 'Delete deep' }).click();
    await page.getByLabel('Type “deep” to confirm').fill('deep');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Deleted deep.').first().waitFor();
    await page.getByRole('link', { name: 'deep/' }).waitFor({ state: 'detached' });
    expect((await send('HEAD', `/s3/${volume}/deep/`)).status).toBe(404);
  });

  test('a key without the scope of files is told which it needs', async () => {
    const made = await send('POST', '/v2/account/api-keys', '{"name":"plain","scopes":["all"]}');
    const { secret } = (await made.json()) as { secret: string };
    const other = await openPage(browser, { complaints });
    await signIn(other, { url: server.url, key: secret });
    await other.goto(`${server.url}/#/volumes/${volume}/files`);
    await other.getByRole('alert').getByText(`files/${volume}:read`).waitFor();
    await other.close();
  });
});

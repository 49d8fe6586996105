/** Users and keys in the console, as an admin and as somebody else. On simulated workers: nothing of it needs a real one. */
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

describe.skipIf(!hasBrowser)('users in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  let annasKey: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    await mkdir(SCREENSHOTS, { recursive: true });
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime: 'simulated', databaseUrl: database.url });
    await new Api(server).call('POST', '/v2/account/users', { name: 'Ben', key: null });
    browser = await launchBrowser();
    page = await signedIn('light', 1280, server.key);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  async function signedIn(colorScheme: 'light' | 'dark', width: number, key: string): Promise<Page> {
    const opened = await openPage(browser, { width, colorScheme, complaints });
    await signIn(opened, { url: server.url, key });
    return opened;
  }

  /** Waits for dialogs to have faded: until then their colors are half transparent. */
  async function expectAccessible(of = page): Promise<void> {
    await expect.poll(() => violationsOf(of)).toEqual([]);
  }

  const button = (name: string, of = page) => of.getByRole('button', { name, exact: true });
  const dialog = () => page.getByRole('dialog');
  /** Chooses in the switch of accounts, whose button says for which one the page acts now. */
  async function actFor(now: string, role: 'button' | 'link', choice: string, of = page): Promise<void> {
    await button(`Act for: ${now}`, of).click();
    await of.getByRole('navigation', { name: 'Main' }).getByRole(role, { name: choice, exact: true }).click();
  }
  const statusFor = async (key: string) =>
    (await fetch(`${server.url}/v2/account`, { headers: { authorization: `Bearer ${key}` } })).status;

  test('an admin makes a user, whose first key is shown once and works', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('link', { name: 'Ben', exact: true }).waitFor();
    await button('New user').click();
    await dialog().getByLabel('Name').fill('Anna');
    await dialog().getByLabel('Email').fill('anna@example.org');
    await button('Create').click();
    await dialog().getByText("You won't be able to view it again").waitFor();
    annasKey = (await dialog().locator('pre').textContent())!;
    expect(await statusFor(annasKey)).toBe(200);
    await page.keyboard.press('Escape');
    const row = page.locator('[data-row]').filter({ has: page.getByRole('link', { name: 'Anna' }) });
    await row.getByText('Active').waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}users-light.png` });
    await expectAccessible();
    await page.getByRole('link', { name: 'Anna' }).click();
    await page.getByRole('heading', { name: 'Anna', level: 1 }).waitFor();
    await page.getByText('Never expires').waitFor();
    await page.getByText('admin (key admin)').waitFor();
  });

  test('an admin finds the endpoints of others, and reads them in their name', async () => {
    const annas = new Api({ ...server, url: server.url, key: annasKey });
    const id = await annas.createEndpoint({ name: 'drawing', workers: { min: 0, max: 0 } });
    await page.getByRole('navigation').getByRole('link', { name: 'All endpoints', exact: true }).click();
    const row = page.locator('[data-row]').filter({ has: page.getByRole('link', { name: 'drawing' }) });
    await row.getByRole('link', { name: 'Anna' }).waitFor();
    await row.getByText('Paused').waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}all-endpoints-light.png` });
    await expectAccessible();
    await row.getByRole('link', { name: 'drawing' }).click();
    await page.getByRole('heading', { name: 'drawing', level: 1 }).waitFor();
    await actFor('Another account', 'button', 'My own account');
    await annas.call('DELETE', `/v2/serverless/${id}`);
  });

  test('scopes are chosen from a list that says what each allows, with a warning of terminals', async () => {
    await page.getByRole('link', { name: 'API keys' }).click();
    const api = new Api(server);
    const endpoint = await api.createEndpoint({ name: 'greeter', workers: { min: 0, max: 0 } });
    await page.reload();
    await button('New key').click();
    const scopes = dialog().getByRole('combobox', { name: 'Scopes' });
    const choose = async (search: string, option: RegExp) => {
      await scopes.fill(search);
      await page.getByRole('option', { name: option }).click();
    };
    await dialog().getByLabel('Name').fill('for the greeter');
    await scopes.click();
    await page.getByRole('option', { name: /^read-only.*Read everything, change nothing/ }).waitFor();
    await scopes.press('Backspace'); // takes `all` away
    await choose('greeter', /greeter · invoke.*Send jobs and requests to it/);
    expect(await dialog().getByText('This key opens terminals').count()).toBe(0);
    await choose('exec', /^exec.*run programs in every pod and worker/);
    await dialog().getByText('This key opens terminals').waitFor();
    await scopes.fill('no such scope');
    await scopes.press('Enter'); // cannot be typed
    await dialog().getByLabel('Name').click();
    await expectAccessible();
    await button('Create', dialog() as unknown as Page).click();
    await dialog().getByText("You won't be able to view it again").waitFor();
    await page.keyboard.press('Escape');
    const { apiKeys } = await api.call<{ apiKeys: { name: string; scopes: string[] }[] }>(
      'GET',
      '/v2/account/api-keys',
    );
    expect(apiKeys.find(({ name }) => name === 'for the greeter')?.scopes).toEqual([`invoke/${endpoint}`, 'exec']);
    await api.delete(endpoint);
    await page.getByRole('navigation').getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('link', { name: 'Anna' }).click();
  });

  test('limits and rate limits are set, and wrong figures are refused at the form', async () => {
    await button('Limits').click();
    await dialog().getByLabel('Pods').fill('3');
    await button('Save').click();
    await page.getByText('0 of 3').waitFor();
    await button('Rate limit').click();
    await dialog().getByLabel('Per minute').fill('many');
    await button('Save').click();
    await dialog().getByText('must be a whole number from 1').waitFor();
    await dialog().getByLabel('Per minute').fill('600');
    await button('Save').click();
    await dialog().waitFor({ state: 'hidden' });
  });

  test('a suspension refuses the keys at once and says why to admins; it can be ended', async () => {
    await button('Suspend').click();
    await dialog().getByLabel('Reason').fill('on leave');
    await button('Suspend', dialog() as unknown as Page).click();
    await page.getByText('Suspended: all keys are refused').waitFor();
    await page.getByText(/by admin: on leave\. What runs keeps running\./).waitFor();
    expect(await statusFor(annasKey)).toBe(403);
    await page.screenshot({ path: `${SCREENSHOTS}user-suspended-light.png` });
    await expectAccessible();
    await button('Resume').click();
    await page.getByText('Suspended: all keys are refused').waitFor({ state: 'hidden' });
    expect(await statusFor(annasKey)).toBe(200);
  });

  test('an admin disables a key of another user, enables it, and replaces it', async () => {
    const save = async (label: string) => {
      await button(label, dialog() as unknown as Page).click();
      await dialog().waitFor({ state: 'hidden' });
    };
    const inKeys = (name: string) => button(name, page.getByRole('table', { name: 'API keys' }) as unknown as Page);
    const enabled = () => dialog().getByRole('switch', { name: 'Enabled' });
    await inKeys('Edit').click();
    await enabled().setChecked(false, { force: true }); // the label lies over the input
    await expectAccessible();
    await save('Save');
    await page.getByText('Disabled', { exact: true }).waitFor();
    expect(await statusFor(annasKey)).toBe(401);
    await inKeys('Edit').click();
    await enabled().setChecked(true, { force: true });
    await save('Save');
    await page.getByText('Disabled', { exact: true }).waitFor({ state: 'hidden' });
    expect(await statusFor(annasKey)).toBe(200);

    await inKeys('Rotate').click();
    await dialog().getByLabel('Hours until the old key ends').fill('0');
    await button('Create the new key', dialog() as unknown as Page).click();
    await page.getByText("You won't be able to view it again").waitFor(); // in a dialog that follows the other
    const former = annasKey;
    annasKey = (await page.getByRole('dialog').locator('pre').textContent())!;
    await page.keyboard.press('Escape');
    await page.getByText("You won't be able to view it again").waitFor({ state: 'hidden' });
    expect([await statusFor(former), await statusFor(annasKey)]).toEqual([401, 200]);
  });

  test('others see neither the page nor its link, and see how their keys are used', async () => {
    const annas = await signedIn('dark', 390, annasKey);
    await button('Menu', annas).click();
    const menu = annas.getByRole('navigation', { name: 'Main' });
    await menu.getByRole('link', { name: 'API keys' }).waitFor();
    expect(await menu.getByRole('link', { name: 'Users', exact: true }).count()).toBe(0);
    await menu.getByRole('link', { name: 'API keys' }).click();
    await annas.getByText('first key', { exact: true }).waitFor();
    await annas.screenshot({ path: `${SCREENSHOTS}keys-dark-390.png` });
    await expectAccessible(annas);
    await annas.goto(`${server.url}/#/users`);
    await annas.getByText('access denied').first().waitFor();
    await annas.close();
  });

  test('a deletion shows what is handed over, asks for the name, and ends', async () => {
    const annas = { ...server, url: server.url, key: annasKey };
    const endpoint = await new Api(annas).createEndpoint({ name: 'of anna', workers: { min: 0, max: 1 } });
    const dark = await signedIn('dark', 390, server.key);
    await dark.goto(page.url());
    await dark.getByRole('heading', { name: 'Anna', level: 1 }).waitFor();
    await dark.getByText('first key', { exact: true }).waitFor();
    await dark.screenshot({ path: `${SCREENSHOTS}user-dark-390.png`, fullPage: true });
    await expectAccessible(dark);
    await dark.close();
    await button('Delete…').click();
    await dialog().getByText('1 endpoint').waitFor();
    await dialog().getByRole('combobox', { name: 'What they own' }).click();
    await page.getByRole('option', { name: 'Hand over to Ben' }).click();
    await dialog().getByText('Ben gets 1 endpoint').waitFor();
    const confirm = dialog().getByRole('button', { name: 'Delete' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog().getByLabel('Type “Anna” to confirm').fill('Anna');
    await page.screenshot({ path: `${SCREENSHOTS}user-delete-light.png` });
    await confirm.click();
    await page
      .getByText(/Being deleted|is deleted/)
      .first()
      .waitFor();
    await page.getByText('Anna is deleted').waitFor();
    expect(await statusFor(annasKey)).toBe(401);
    const { rows } = await database.pool.query(
      'select u.name from endpoints e join users u on u.id = e.user_id where e.id = $1',
      [endpoint],
    );
    expect(rows).toEqual([{ name: 'Ben' }]);
  });

  test('a team is made, gets a member and is acted for; its link does so in a new tab, and strangers are told', async () => {
    const menu = page.getByRole('navigation', { name: 'Main' });
    const ben = await new Api(server).call<{ users: { userId: string }[] }>('GET', '/v2/account/users?search=Ben');
    await actFor('My own account', 'link', 'All teams');
    await page.getByText('No teams yet').waitFor();
    await expectAccessible();
    await button('New team').first().click();
    await dialog().getByLabel('Name').fill('Vision');
    await button('Create').click();
    await page.getByRole('link', { name: 'Vision', exact: true }).click();
    await button('Add member').click();
    await dialog().getByLabel('User id').fill(ben.users[0]!.userId);
    await button('Add').click();
    await page.getByLabel('Role of Ben').selectOption('Developer');
    await page.getByRole('cell', { name: 'Developer' }).first().waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}team-light.png` });
    await expectAccessible();

    await actFor('My own account', 'button', 'Vision');
    await button('Account Vision').waitFor();
    await expect.poll(() => page.url()).toMatch(/\?team=\w{14}#\/$/);
    await menu.getByRole('link', { name: 'Secrets', exact: true }).click(); // the link keeps the team
    await button('New secret').first().click();
    await dialog().getByLabel('Name').fill('SHARED');
    await dialog().getByLabel('Value').first().fill('hush');
    await button('Create').click();
    await page.getByText('SHARED', { exact: true }).waitFor();
    const { rows } = await database.pool.query(
      "select u.name from secrets s join users u on u.id = s.user_id where s.name = 'SHARED'",
    );
    expect(rows).toEqual([{ name: 'Vision' }]);

    const link = page.url();
    await actFor('Vision', 'button', 'My own account');
    await button('Account admin').waitFor();
    expect(page.url()).not.toContain('team=');
    const opened = async (colorScheme: 'light' | 'dark', width: number, key: string) => {
      const tab = await openPage(browser, { width, colorScheme, complaints });
      await tab.goto(link);
      await tab.getByLabel('API key').fill(key);
      await button('Sign in', tab).click();
      return tab;
    };
    const dark = await opened('dark', 390, server.key);
    await dark.getByText('SHARED', { exact: true }).waitFor();
    await dark.screenshot({ path: `${SCREENSHOTS}team-secrets-dark-390.png` });
    await expectAccessible(dark);
    await dark.close();
    const { key } = await new Api(server).call<{ key: { secret: string } }>('POST', '/v2/account/users', {
      name: 'Cleo',
    });
    const stranger = await opened('light', 1280, key.secret);
    await stranger.getByText('access denied: you are in no such team').first().waitFor();
    await actFor('Another account', 'button', 'My own account', stranger); // the way out
    await stranger.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await stranger.close();
  });
});

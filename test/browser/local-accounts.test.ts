/** Invitations, passwords and passkeys in the console, with Chromium's virtual authenticator. On simulated workers. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { signIn, violationsOf } from './console-page.ts';

const PASSWORD = 'pelican gravel ounce tilt';

describe.skipIf(!hasBrowser)('local accounts in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  /** Browsers have passkeys for names of hosts only. */
  let url: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    url = `http://localhost:${await freePort()}`;
    const env = { PODYARD_PUBLIC_URL: url };
    server = await ServerProcess.create({ runtime: 'simulated', databaseUrl: database.url, env });
    server.url = url;
    await server.start();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  const newPage = async (colorScheme: 'light' | 'dark') => {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  };
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).first().waitFor();
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const signOut = async (page: Page) => {
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByLabel('API key', { exact: true }).waitFor();
  };

  test('without an invitation the sign-in page is as before', async () => {
    const page = await newPage('light');
    await page.goto(`${url}/`);
    await button(page, 'Sign in').waitFor();
    expect(await page.getByLabel('Password', { exact: true }).count()).toBe(0);
    await page.context().close();
  });

  test('an admin invites; whoever opens the link sets a password, adds a passkey, and signs in with both', async () => {
    const admin = await newPage('light');
    await signIn(admin, server);
    const made = await fetch(`${url}/v2/account/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'mira', key: null }),
    });
    const { userId } = (await made.json()) as { userId: string };
    await admin.goto(`${url}/#/users/${userId}`);
    await button(admin, 'Invite').click();
    const link = (await admin.getByRole('dialog').locator('pre').textContent())!;
    expect(link).toMatch(/#\/invitation\/pyi_/);
    await admin.keyboard.press('Escape');
    await admin.getByRole('dialog').waitFor({ state: 'detached' });
    await button(admin, 'Revoke the invitation').waitFor();
    expect(await violationsOf(admin)).toEqual([]);
    await admin.context().close();

    const page = await newPage('dark');
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...({ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const),
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    await page.goto(`${url}/${link.slice(link.indexOf('#'))}`);
    await heading(page, 'Welcome to Podyard');
    await page.getByText('mira').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('New password').fill('password2026');
    await button(page, 'Set the password').click();
    await page.getByText('is easy to guess').waitFor();
    await page.getByLabel('New password').fill(PASSWORD);
    await button(page, 'Set the password').click();
    await heading(page, 'You are signed in');
    expect(page.url()).not.toContain('pyi_');
    await button(page, 'Add a passkey').click();
    await page.getByLabel('Name', { exact: false }).fill('laptop');
    await button(page, 'Add').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await button(page, 'Open the console').click();
    await heading(page, 'Overview');

    await page.goto(`${url}/#/keys`);
    await heading(page, 'Password and passkeys');
    await page.getByText('laptop').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await signOut(page);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('Email or name').fill('mira');
    await page.getByLabel('Password', { exact: true }).fill('not my password');
    await button(page, 'Sign in').click();
    await page.getByText('do not belong together').waitFor();
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await button(page, 'Sign in').click();
    await page.getByText('laptop').waitFor();
    await signOut(page);
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('cell', { name: 'Passkey', exact: true }).waitFor();
    await button(page, 'Remove laptop').click();
    await page.getByText('You have no passkeys').waitFor();
    await page.context().close();
  });

  test.each(['light', 'dark'] as const)(
    'a link that is used up says so on an accessible page (%s)',
    async (colorScheme) => {
      const page = await newPage(colorScheme);
      await page.goto(`${url}/#/invitation/pyi_used`);
      await page.getByText('ask an admin for another').waitFor();
      expect(await violationsOf(page)).toEqual([]);
      await button(page, 'Sign in').click();
      await page.getByLabel('API key', { exact: true }).waitFor();
      await page.context().close();
    },
  );
});

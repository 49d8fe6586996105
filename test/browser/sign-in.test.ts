/** Signing in to the console: with a key, with a provider, in several tabs, and out again. On simulated workers. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { CLIENT_ID, CLIENT_SECRET, OidcServer } from '../stand-ins/oidc-server.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('signing in to the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let provider: OidcServer;
  let server: ServerProcess;
  let browser: Browser;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    provider = await OidcServer.start();
    const acme = {
      name: 'acme',
      title: 'Acme',
      issuer: provider.issuer,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
    };
    const env: Record<string, string> = { PODYARD_TRUSTED_PROXIES: '127.0.0.1' };
    server = await ServerProcess.create({ runtime: 'simulated', databaseUrl: database.url, env });
    env.PODYARD_SIGN_IN = join(server.dataDir, 'sign-in.json');
    await writeFile(
      env.PODYARD_SIGN_IN,
      JSON.stringify({ providers: [acme], proxy: { title: 'the gate', header: 'X-Forwarded-User' } }),
      { mode: 0o600 },
    );
    await server.start();
    provider.serve(server.url);
    provider.accounts.set('anna', { sub: 'anna', preferred_username: 'Anna', email: 'anna@example.org' });
    provider.account = 'anna';
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await provider?.close();
    await database?.drop();
    expect(complaints).toEqual([]);
  });

  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}/sign-in/cli/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return (await response.json()) as Record<string, string>;
  };
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
  /** Opens the first tab of a browser of its own. Its other tabs share what it stores. */
  const firstTab = async (colorScheme: 'light' | 'dark') => {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  };
  const newTab = async (page: Page, path: string) => {
    const tab = await page.context().newPage();
    tab.setDefaultTimeout(30_000);
    await tab.goto(`${server.url}/#${path}`);
    return tab;
  };
  const signOut = async (page: Page) => {
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  };

  test.each(['light', 'dark'] as const)('the page is accessible in the %s theme', async (colorScheme) => {
    const page = await openPage(browser, { colorScheme, complaints });
    await page.goto(`${server.url}/#/endpoints`);
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.close();
  });

  test('there is nothing to type into before it is known how people sign in: it would move', async () => {
    const page = await openPage(browser, { complaints });
    const known = Promise.withResolvers<void>();
    await page.route('**/sign-in/providers', async (route) => {
      await known.promise;
      await route.continue();
    });
    await page.goto(`${server.url}/`);
    await heading(page, 'Sign in to Podyard');
    expect(await page.getByLabel('API key').count()).toBe(0);
    known.resolve();
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor();
    await page.getByLabel('API key').waitFor();
    await page.close();
  });

  test('a key signs in all tabs of the browser, through a restart, until one signs out', async () => {
    const page = await firstTab('light');
    await signIn(page, server);
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain(server.key);
    expect(await page.evaluate('document.cookie')).toBe('');
    const tab = await newTab(page, '/keys');
    await heading(tab, 'API keys');
    await tab.getByText('This browser').waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    await server.kill();
    await server.start();
    await tab.reload();
    await tab.getByText('This browser').waitFor();
    await tab.goBack();
    await tab.goForward();
    await heading(tab, 'API keys');
    // A link that anybody can make signs nobody out, neither here nor in the other tab.
    const stored = await page.evaluate('localStorage["podyard-session"]');
    for (const to of ['%2Fkeys', '%']) {
      await tab.goto('about:blank');
      await tab.goto(`${server.url}/#signed-in=abc.def&to=${to}`);
      await tab.getByRole('button', { name: /^Account/ }).waitFor();
      await tab.waitForFunction('!location.hash.includes("signed-in")');
      expect(await page.evaluate('localStorage["podyard-session"]')).toBe(stored);
    }
    await signOut(page);
    for (const each of [page, tab]) await each.getByLabel('API key', { exact: true }).waitFor();
    await page.context().close();
  });

  test('a provider signs in, and returns to the page that was asked for', async () => {
    const page = await firstTab('dark');
    await page.goto(`${server.url}/#/templates`);
    await page.getByRole('link', { name: 'Sign in with Acme' }).click();
    await heading(page, 'Templates');
    expect(new URL(page.url()).hash).toBe('#/templates');
    await page.getByRole('button', { name: 'Account Anna' }).waitFor();
    const tab = await newTab(page, '/keys');
    await tab.getByText('acme', { exact: true }).waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    await tab.getByRole('button', { name: /^Sign out .+ on Linux$/ }).click();
    for (const each of [tab, page]) await each.getByLabel('API key', { exact: true }).waitFor();
    await page.context().close();
  });

  test.each(['light', 'dark'] as const)('whom a proxy names signs in with its button (%s)', async (colorScheme) => {
    const extraHTTPHeaders = { 'x-forwarded-user': 'greta' };
    const context = await browser.newContext({ colorScheme, extraHTTPHeaders });
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${server.url}/#/templates`);
    const button = page.getByRole('button', { name: 'Sign in with the gate' });
    await button.waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await button.click();
    await heading(page, 'Templates');
    await page.getByRole('button', { name: 'Account greta' }).waitFor();
    await context.setExtraHTTPHeaders({}); // past the proxy, the session is worth nothing
    await page.reload();
    await page.getByLabel('API key', { exact: true }).waitFor();
    await page.getByText('Sign in with the gate').waitFor({ state: 'detached' });
    await context.close();
  });

  test.each(['light', 'dark'] as const)('a refused sign-in says so on an accessible page (%s)', async (colorScheme) => {
    const page = await openPage(browser, { colorScheme, complaints });
    await page.goto(`${server.url}/sign-in/oidc/acme/callback?state=unknown&code=x`);
    await heading(page, 'You are not signed in');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.getByLabel('API key', { exact: true }).waitFor();
    await page.close();
  });

  test.each(['light', 'dark'] as const)(
    'a command line is approved by its link and by its code (%s)',
    async (colorScheme) => {
      const returned = Promise.withResolvers<string>();
      const cli = createServer((req, res) => {
        if (req.url!.startsWith('/callback')) returned.resolve(req.url!);
        res.end('Signed in.');
      });
      await new Promise<void>((listening) => cli.listen(0, '127.0.0.1', listening));
      const { port } = cli.address() as AddressInfo;
      const page = await firstTab(colorScheme);
      try {
        const [state, verifier] = ['s'.repeat(43), 'v'.repeat(43)];
        const challenge = createHash('sha256').update(verifier).digest('base64url');
        await page.goto(`${server.url}/#/login?host=laptop&port=${port}&state=${state}&challenge=${challenge}`);
        await page.getByRole('link', { name: 'Sign in with Acme' }).click(); // and comes back to the page
        await page.getByText('The command line on laptop (on this computer) asks to act as Anna.').waitFor();
        expect(await violationsOf(page)).toEqual([]);
        await page.getByRole('button', { name: 'Approve' }).click();
        const query = new URL(await returned.promise, 'http://127.0.0.1').searchParams;
        expect(query.get('state')).toBe(state);
        const redeemed = await post('token', { code: query.get('code'), verifier });
        expect(redeemed).toMatchObject({ name: 'CLI on laptop', userName: 'Anna' });

        const device = await post('device', { host: 'gpu-7' });
        const tab = await newTab(page, '/login');
        await tab.getByLabel('Code').fill('BBBB-BBBB');
        await tab.getByRole('button', { name: 'Continue' }).click();
        await tab.getByRole('alert').getByText('Login with this code not found').waitFor();
        expect(await violationsOf(tab)).toEqual([]);
        await tab.getByLabel('Code').fill(device.userCode!);
        await tab.getByRole('button', { name: 'Continue' }).click();
        await tab.getByText('The command line on gpu-7 (from 127.0.0.1) asks to act as Anna.').waitFor();
        await tab.getByRole('button', { name: 'Deny' }).click();
        await tab.getByText('Denied: the command line gets nothing.').waitFor();
        expect(await violationsOf(tab)).toEqual([]);
      } finally {
        await page.context().close();
        cli.close();
      }
    },
  );
});

/** The console's forms: what they offer, what they say of mistakes, and what they keep. On simulated GPUs. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, signIn, violationsOf } from './console-page.ts';

describe.skipIf(!hasBrowser)('forms in the console', { timeout: 300_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({
      runtime: 'simulated',
      databaseUrl: database.url,
      gpus: 'ADA_24:4,AMPERE_80:1',
    });
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

  /** Waits for dialogs to have faded in: until then their colors are half transparent. */
  async function expectAccessible(): Promise<void> {
    await expect.poll(() => violationsOf(page)).toEqual([]);
  }
  const shot = async (name: string) => {
    if (process.env.PODYARD_SHOTS) await page.screenshot({ path: `${process.env.PODYARD_SHOTS}/${name}.png` });
  };

  test('errors stand at their fields, in words', async () => {
    await page.goto(`${server.url}/#/endpoints/new`);
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByText('Name is required').waitFor();
    await page.getByText('Image is required').waitFor();
    await page.getByText('GPU pools are required').waitFor();
    await shot('errors');
    await expectAccessible();
  });

  test('a GPU pool says what it has, costs, and what is here; others are chosen only deliberately', async () => {
    const pools = page.getByRole('combobox', { name: 'GPU pools' });
    await pools.click();
    const option = page.getByRole('option', { name: /ADA_24/ });
    expect(await option.textContent()).toMatch(/RTX 4090.*24 GB.*\$\d.*an hour.*\d+ of \d+ free/);
    await shot('pool-picker');
    await option.click();
    await page.keyboard.press('Escape');
    const here = { id: 'NVIDIA L4', name: 'L4', pool: 'AMPERE_24', total: 2, free: 1 };
    // As on an installation without the other pools.
    await page.route('**/v2/catalog/capacity', (route) =>
      route.fulfill({ json: { gpus: [here, { ...here, id: 'NVIDIA A40', name: 'A40', pool: 'AMPERE_48' }] } }),
    );
    await page.reload();
    await page.getByText('ADA_24: no such GPU is on this installation').waitFor();
    await pools.click();
    expect(await page.getByRole('option', { name: /HOPPER/ }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.getByText(/^Show \d+ more that are not on this installation$/).click();
    await pools.click();
    await page.getByRole('option', { name: /HOPPER.*Not on this installation/ }).waitFor();
    await page.keyboard.press('Escape');
    await expectAccessible();
    await page.unroute('**/v2/catalog/capacity');
  });

  test('the only pool of an installation is chosen already', async () => {
    const other = await openPage(browser, { complaints });
    await other.route('**/v2/catalog/capacity', (route) =>
      route.fulfill({ json: { gpus: [{ id: 'NVIDIA L4', name: 'L4', pool: 'AMPERE_24', total: 2, free: 1 }] } }),
    );
    await signIn(other, server);
    await other.goto(`${server.url}/#/endpoints/new`);
    await other.locator('.mantine-Pill-label').getByText('AMPERE_24', { exact: true }).waitFor();
    await other.close();
  });

  test('unsaved changes survive a reload, without secrets, and leaving asks', async () => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('kept');
    await page.getByRole('button', { name: 'Add variable' }).click();
    await page.getByLabel('Name of variable 1').fill('TOKEN');
    await page.getByLabel('Value of variable 1').fill('hunter2');
    await expect.poll(() => page.evaluate('JSON.stringify(sessionStorage)')).toContain('TOKEN');
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('hunter2');
    await page.reload();
    await page.getByText('Your unsaved changes are back.').waitFor();
    expect(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toBe('kept');
    await page.getByRole('link', { name: 'Pods' }).first().click();
    await page.getByText('Leave with unsaved changes?').waitFor();
    await expectAccessible();
    await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(page.url()).toContain('#/endpoints/new');
    await page.getByRole('link', { name: 'Pods' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('heading', { name: 'Pods', level: 1 }).waitFor();
    await page.goto(`${server.url}/#/endpoints/new`);
    expect(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toBe('');
  });

  test('a template fills the form of an endpoint', async () => {
    const body = { name: 'transcriber', image: 'ghcr.io/acme/transcriber:1', env: { LEVEL: 'info' }, serverless: true };
    await new Api(server).call('POST', '/v2/templates', body);
    await page.reload();
    await page.getByRole('combobox', { name: 'Template' }).click();
    await page.getByRole('option', { name: /transcriber.*ghcr\.io\/acme\/transcriber:1/ }).click();
    await expect.poll(() => page.getByLabel('Image').inputValue()).toBe('ghcr.io/acme/transcriber:1');
    expect(await page.getByLabel('Value of variable 1').inputValue()).toBe('info');
    await expectAccessible();
  });

  test('an endpoint on CPUs takes several flavors, in order', async () => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('small');
    await page.getByText('CPU', { exact: true }).click();
    await page.getByRole('combobox', { name: 'CPU flavor 1' }).click();
    await page.getByRole('option').first().click();
    await page.getByRole('button', { name: 'Add another flavor' }).click();
    await page.getByRole('combobox', { name: 'CPU flavor 2' }).click();
    await page.getByRole('option').nth(1).click();
    await shot('cpu-flavors');
    await page.getByLabel('Idle timeout').fill('0');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByText('Idle timeout: at least 1 second').waitFor();
    await page.getByLabel('Idle timeout').fill('5');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: 'small', level: 1 }).waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('combobox', { name: 'CPU flavor 2' }).waitFor();
    const { rows } = await database.pool.query(
      "select jsonb_array_length(cpu) as count from endpoints where name = 'small'",
    );
    expect(rows).toEqual([{ count: 2 }]);
  });

  test('presets and summaries: a cluster, a key, a budget', async () => {
    await page.goto(`${server.url}/#/clusters/new`);
    await page.getByRole('button', { name: /^Ray/ }).click();
    expect(await page.getByLabel('Pods').inputValue()).toBe('4');
    const summary = page.getByRole('region', { name: 'Summary' });
    await summary.getByText('4 pods at once, or none').waitFor();
    await page.getByRole('button', { name: /^Ray/, pressed: true }).waitFor();
    await expectAccessible();
    await page.getByRole('button', { name: /^Service/ }).click();
    await summary.getByText('2 pods at once, or none').waitFor();
    await page.goto(`${server.url}/#/keys?new`);
    await page.getByRole('dialog').getByRole('button', { name: 'Invoke only' }).click();
    await summary.getByText('Send jobs and requests to every endpoint').waitFor();
    await expectAccessible();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await page.goto(`${server.url}/#/billing?new`);
    await page.getByRole('textbox', { name: 'Amount' }).fill('250');
    await summary.getByText('at $200.00, $250.00').waitFor();
    await expectAccessible();
  });

  test('the GPU rule of an endpoint is set in its settings', async () => {
    const id = await new Api(server).createEndpoint({ name: 'ruled', workers: { min: 0, max: 0 } });
    await page.goto(`${server.url}/#/endpoints/${id}/settings`);
    const rule = page.getByRole('group', { name: 'Which GPUs of its pools' });
    await rule.getByLabel('Oldest CUDA version').fill('12.4');
    await page.getByRole('button', { name: 'Set rule' }).click();
    await page.getByText('GPU rule set.').waitFor();
    expect(await new Api(server).call('GET', `/v2/serverless/${id}/gpu-rule`)).toMatchObject({
      minCudaVersion: '12.4',
    });
    await rule.getByLabel('Oldest CUDA version').fill('new');
    await page.getByRole('button', { name: 'Set rule' }).click();
    await rule
      .getByText(/^Oldest CUDA version/)
      .nth(1)
      .waitFor();
    await expectAccessible();
    await shot('gpu-rule');
  });
});

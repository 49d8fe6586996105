/** Models in the console: those of the machine, those of an endpoint, and a model that becomes an endpoint. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeMachineState } from '../../src/domain/machine-models/machine-model-store.ts';
import { pinModel } from '../../src/domain/models/pinned-model-store.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { ModelHub } from '../model-hub.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn, violationsOf } from './console-page.ts';

/** As long as a name of the hub may be: 193 characters. */
const LONG = `${'o'.repeat(96)}/${'name-'.repeat(19)}n`;

describe.skipIf(!hasBrowser)('models', { timeout: 300_000 }, () => {
  let hub: ModelHub;
  let database: TestDatabase;
  let server: ServerProcess;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    hub = await ModelHub.start([LONG]);
    hub.models.set('org/chat', {
      task: 'text-generation',
      files: { 'config.json': { size: 1_000 }, 'model.safetensors': { size: 2_000_000_000, lfs: true } },
    });
    database = await createTestDatabase();
    server = await ServerProcess.start({
      ...{ runtime: 'simulated', databaseUrl: database.url, gpus: 'ADA_24:2' },
      env: { PODYARD_HUB_URL: hub.url },
    });
    browser = await launchBrowser();
    page = await openPage(browser, { complaints });
    await signIn(page, server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.drop();
    await hub?.close();
    expect(complaints).toEqual([]);
  });

  /** As control writes down what a machine has; this server's runtime stores none. */
  async function store(): Promise<void> {
    const { pool } = database;
    const file = { path: 'a.bin', size: 3_000_000_000, digest: `sha256:${'0'.repeat(64)}` as const };
    const pin = (name: string) => pinModel(pool, { source: 'HUB', name, commit: 'c'.repeat(40), files: [file] });
    const at = new Date().toISOString();
    const coming = await pin('org/coming');
    const failed = await pin('org/failed');
    await writeMachineState(pool, {
      stored: [
        { model: await pin(LONG), fetchedAt: at, usedAt: at, isHeld: false },
        { model: await pin('org/held'), fetchedAt: at, usedAt: at, isHeld: true },
      ],
      fetching: [
        { id: coming.id, bytes: 1e9, totalBytes: 3e9, bytesPerSecond: 50e6 },
        { id: failed.id, bytes: 0, totalBytes: 3e9, bytesPerSecond: 0 },
      ],
      room: { budgetBytes: 10e9, usedBytes: 6e9, stuckBytes: 3e9 },
    });
    await pool.query(`update machine_models set problem = 'the hub answered with 403' where model_id = $1`, [
      failed.id,
    ]);
  }

  const row = (name: string) => page.getByRole('row').filter({ hasText: name });

  test('the page of models says how they come there; then what is stored, coming and free', async () => {
    await page.goto(`${server.url}/#/models`);
    await page.getByRole('heading', { name: 'No models on the machine yet' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await store();
    await page.reload();
    await row('org/coming').getByText('1.0 GB of 3.0 GB, 50.0 MB/s, 40 s left').waitFor();
    await page.getByText('6.0 GB of 10.0 GB; 3.0 GB are pinned or in use').waitFor();
    await row('org/held').getByText('In use').waitFor();
    await row('org/failed').getByText('Failed: the hub answered with 403').waitFor();
    await row(LONG).getByRole('button', { name: /^Pin / }).click();
    await row(LONG).getByText('Pinned').waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('an admin has a model fetched ahead; what does not fit is refused in the dialog', async () => {
    await page.goto(`${server.url}/#/models?new`); // as the palette does
    const dialog = page.getByRole('dialog');
    hub.models.set('org/huge', { files: { 'a.bin': { size: 11e9, lfs: true } } });
    await dialog.getByLabel('Model').fill('hf:org/huge');
    await dialog.getByRole('button', { name: 'Fetch', exact: true }).click();
    await dialog.getByText('models may take 10.0 GB on this machine').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByLabel('Model').fill('hf:org/chat');
    await dialog.getByRole('button', { name: 'Fetch', exact: true }).click();
    await row('org/chat').getByText('Waiting for its turn').waitFor();
    await row('org/chat').getByRole('button', { name: 'Delete org/chat' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('org/chat');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row('org/chat').waitFor({ state: 'detached' });
  });

  test('a model becomes an endpoint, once it was said what is chosen and why', async () => {
    await page.goto(`${server.url}/#/models/deploy`);
    await page.getByRole('heading', { name: 'Deploy a model' }).waitFor();
    await page.getByRole('textbox', { name: 'Model' }).fill('hf:org/none');
    await page.getByRole('button', { name: 'Look it up' }).click();
    await page.getByText('has no model org/none').waitFor();
    await page.getByRole('textbox', { name: 'Model' }).fill('hf:org/chat');
    await page.getByRole('button', { name: 'Look it up' }).click();
    const plan = page.getByRole('region', { name: 'Summary', exact: true });
    await plan.getByText('text generation, because the hub says text-generation').waitFor();
    await plan.getByText('5.4 GB of GPU memory for a worker').waitFor();
    await plan.getByText('It fits: 4.0 GB of 10.0 GB are free.').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await page.getByRole('heading', { name: 'chat', level: 1 }).waitFor();
  });

  test('the models of an endpoint are shown and replaced; one that cannot be had is an error at its field', async () => {
    await openTab(page, 'Releases', 'Models');
    const table = page.getByRole('table', { name: 'Models' });
    await table.getByText('The next start fetches it').waitFor();
    const field = page.getByLabel('Model to add');
    await field.fill('hf:org/none');
    await page.getByRole('button', { name: 'Add model' }).click();
    await page.getByText('has no model org/none').waitFor();
    await field.fill(`hf:${LONG}`);
    await field.press('Enter');
    await page.getByRole('button', { name: `Remove hf:${LONG}` }).waitFor();
    await page.getByRole('button', { name: 'Save models' }).click();
    await table.getByText(LONG).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.goto(`${server.url}/#/endpoints/new`);
    await page.getByLabel('Model to add').fill('hf:org/chat');
    await page.getByRole('button', { name: 'Add model' }).click();
    await page.getByText(/^org\/chat@\w{7}, 2 files, 2\.0 GB\. It fits/).waitFor();
  });

  test('its pages fit a phone in the dark, with names of 190 characters, and pass the accessibility check', async () => {
    const phone = await openPage(browser, { width: 390, height: 844, colorScheme: 'dark', complaints });
    await signIn(phone, server);
    const [{ id }] = (
      (await (
        await fetch(`${server.url}/v2/serverless`, { headers: { authorization: `Bearer ${server.key}` } })
      ).json()) as {
        endpoints: [{ id: string }];
      }
    ).endpoints;
    for (const path of ['models', 'models/deploy', `endpoints/${id}/models`]) {
      await phone.goto(`${server.url}/#/${path}`);
      await phone.getByRole('heading', { level: 1 }).waitFor();
      if (path !== 'models/deploy') await phone.getByText(LONG.slice(0, 20)).first().waitFor();
      expect(await violationsOf(phone)).toEqual([]);
      expect(await phone.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    }
    await phone.close();
  });

  test('the palette finds models', async () => {
    await page.goto(`${server.url}/#/models`);
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('org/held');
    await page
      .getByRole('option', { name: /org\/held/ })
      .first()
      .waitFor();
  });
});

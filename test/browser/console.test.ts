import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { describeWithEngine, needExampleImages } from '../containers/container-engine.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import { openPage, openTab, signIn, violationsOf } from './console-page.ts';

/** Screenshots for people to look at; git ignores them. */
const SCREENSHOTS = fileURLToPath(new URL('../../test-results/console/', import.meta.url));
/** Read from the console's table: a new section is looked at too. */
const ENDPOINT_SECTIONS = [
  ...readFileSync(new URL('../../console/src/pages/endpoints/endpoint-tabs.ts', import.meta.url), 'utf8').matchAll(
    /section\('(\w+)'/g,
  ),
].map(([, value]) => value!);

let database: TestDatabase;
let server: ServerProcess;
let browser: Browser;
const complaints: string[] = [];

async function newPage(colorScheme: 'light' | 'dark' = 'light', width = 1280): Promise<Page> {
  const page = await openPage(browser, { width, colorScheme, complaints });
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) complaints.push(request.url());
  });
  return page;
}

describeWithEngine('the console', () =>
  describe.skipIf(!hasBrowser)('in a browser', { timeout: 300_000 }, () => {
    beforeAll(async () => {
      await needExampleImages();
      await mkdir(SCREENSHOTS, { recursive: true });
      browser = await launchBrowser();
      database = await createTestDatabase();
      server = await ServerProcess.start({ runtime: 'docker', databaseUrl: database.url });
    });
    afterAll(async () => {
      await browser?.close();
      await server?.dispose();
      await database?.drop();
    });
    afterEach(async () => {
      for (const context of browser.contexts()) await context.close();
      expect(complaints.splice(0)).toEqual([]); // no errors in the browser, and no requests to other hosts
    });

    test("a wrong key is rejected with the server's message", async () => {
      const page = await newPage();
      await page.goto(`${server.url}/`);
      await page.getByLabel('API key').fill('pyk_wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText('invalid bearer token').waitFor();
    });

    test('the overview shows what the installation runs on', async () => {
      const page = await newPage();
      await signIn(page, server);
      const facts = page.getByRole('region', { name: 'Installation' });
      await facts.getByText('Docker containers').waitFor();
      await facts.getByText('Simulated: workers run on the CPU').waitFor();
      await facts.getByText(/^GPUs are simulated \(ADA_24@LOCAL-1:4\): workers run on the CPU\.$/).waitFor();
      await page.screenshot({ path: `${SCREENSHOTS}installation.png`, fullPage: true });
      expect(await violationsOf(page)).toEqual([]);
    });

    test('an endpoint is deployed, runs a job, is changed, rolled back and deleted', async () => {
      const page = await newPage();
      await signIn(page, server);
      await page.getByText('Deploy your first endpoint').waitFor();

      await page.getByRole('link', { name: 'your own image' }).click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('greeter');
      await page.getByLabel('Image').fill('podyard/echo-js:dev');
      await page.getByRole('button', { name: 'Deploy' }).click();
      await page.getByRole('heading', { name: 'greeter', level: 1 }).waitFor();
      await page.getByText('No workers running.').waitFor();

      await openTab(page, 'Requests');
      await page.getByRole('textbox', { name: 'Input' }).fill('{"echo": "from the browser", "logLines": 3}');
      await page.getByRole('button', { name: 'Run job' }).click();
      await page.getByText('Completed').first().waitFor();
      await page.getByText('"from the browser"', { exact: true }).waitFor();

      await openTab(page, 'Overview');
      const worker = page.getByRole('table', { name: 'Workers' }).getByRole('button').first();
      await worker.click();
      await page.getByRole('dialog').getByText('Initialize', { exact: true }).waitFor();
      await page.getByRole('log').getByText('line 3').waitFor();
      await page.keyboard.press('Escape');

      await page.getByRole('tab', { name: 'Settings' }).click();
      await page.getByRole('textbox', { name: 'Image' }).fill('podyard/echo-js:v2');
      await page.getByLabel('Min workers').fill('9');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page
        .getByRole('alert')
        .getByText(/workers\.min/)
        .waitFor(); // min 9 and max 3 is rejected
      await page.getByLabel('Min workers').fill('1');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Changes saved.').waitFor();

      await page.getByRole('tab', { name: 'Releases' }).click();
      await page.getByText('podyard/echo-js:dev → podyard/echo-js:v2').waitFor();
      await page.getByText('1 of 1 workers on version 2.').waitFor();
      await page.getByRole('button', { name: 'Roll back' }).click();
      await page.getByText('podyard/echo-js:v2 → podyard/echo-js:dev').waitFor();

      await openTab(page, 'Logs', 'Decisions');
      await page.getByText('a job waits and there is no worker').first().waitFor();

      await page.getByRole('tab', { name: 'Settings' }).click();
      await page.getByRole('button', { name: 'Delete…' }).click();
      const dialog = page.getByRole('dialog');
      expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
      await dialog.getByRole('textbox').fill('greeter');
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No endpoints yet').waitFor();
      expect(await page.evaluate('location.href + document.cookie')).not.toContain(server.key);
    });

    test('an endpoint on CPUs is deployed and changed', async () => {
      const api = new Api(server);
      const page = await newPage();
      await signIn(page, server);
      await page.goto(`${server.url}/#/endpoints/new`);
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('small');
      await page.getByLabel('Image').fill('podyard/echo-js:dev');
      await page.getByText('CPU', { exact: true }).click();
      await page.getByRole('combobox', { name: 'CPU flavor 1' }).click();
      await page.getByRole('option').first().click();
      await page.getByRole('button', { name: 'Deploy' }).click();
      await page.getByRole('heading', { name: 'small', level: 1 }).waitFor();
      await page.getByRole('tab', { name: 'Settings' }).click();
      await page.getByLabel('Max workers').fill('0');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Changes saved.').waitFor();
      const { endpoints } = await api.call<{ endpoints: { id: string; name: string }[] }>(
        'GET',
        '/2026-08/v2/serverless',
      );
      const small = endpoints.find(({ name }) => name === 'small')!;
      expect(small).toMatchObject({ cpu: [{ vcpuCount: 2 }], workers: { max: 0 } });
      await api.delete(small.id);
    });

    test('templates, secrets, registries, keys and pods are created and listed; a secret is never shown', async () => {
      const page = await newPage();
      await signIn(page, server);
      const create = async (area: string, button: string, fields: Record<string, string>) => {
        await page.getByRole('navigation').getByRole('link', { name: area }).click();
        await page.getByRole('heading', { name: area, level: 1 }).waitFor();
        await page.getByRole('button', { name: button }).first().click();
        const dialog = page.getByRole('dialog');
        for (const [label, value] of Object.entries(fields)) {
          await dialog.getByRole('textbox', { name: label, exact: true }).fill(value);
        }
        return dialog;
      };
      const templates = await create('Templates', 'New template', { Name: 'base', Image: 'podyard/echo-js:dev' });
      await templates.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('cell', { name: 'base', exact: true }).waitFor();
      const secrets = await create('Secrets', 'New secret', { Name: 'TOKEN' });
      await secrets.getByLabel('Value').fill('the-canary-value');
      await secrets.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('cell', { name: 'TOKEN', exact: true }).waitFor();
      const registries = await create('Registries', 'New registry', { Name: 'mine', Username: 'me' });
      await registries.getByLabel('Password or token').fill('p');
      await registries.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('cell', { name: 'mine', exact: true }).waitFor();
      const keys = await create('API keys', 'New key', { Name: 'for CI' });
      await keys.getByRole('button', { name: 'Create' }).click();
      await page.getByText("You won't be able to view it again.").waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('cell', { name: /^for CI/ }).waitFor();
      expect(await page.content()).not.toContain('the-canary-value');

      await page.getByRole('navigation').getByRole('link', { name: 'Pods' }).click();
      await page.getByRole('link', { name: 'New pod' }).first().click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('box');
      await page.getByLabel('Image').fill('podyard/web-js:dev');
      await page.getByText('CPU', { exact: true }).click();
      await page.getByRole('combobox', { name: 'CPU', exact: true }).click();
      await page.getByRole('option').first().click();
      await page.getByRole('button', { name: 'Create pod' }).click();
      await page.getByRole('heading', { name: 'box', level: 1 }).waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor();
      await page.getByRole('button', { name: 'Terminate…' }).click();
      await page.getByRole('dialog').getByRole('textbox').fill('box');
      await page.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click();
      await page.getByText('No pods yet').waitFor();
    });

    test('a cluster is created, shows its pods, and is deleted', async () => {
      const page = await newPage();
      await signIn(page, server);
      await page.getByRole('navigation').getByRole('link', { name: 'Clusters' }).click();
      await page.getByText('No clusters yet').waitFor();
      await page.getByRole('link', { name: 'New cluster' }).first().click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ring');
      await page.getByLabel('Image').fill('podyard/web-js:dev');
      await page.getByRole('combobox', { name: 'GPU', exact: true }).click();
      await page.getByRole('option', { name: /^RTX 4090/ }).click();
      await page.getByRole('button', { name: 'Create cluster' }).click();
      await page.getByRole('heading', { name: 'ring', level: 1 }).waitFor();
      const rows = page.getByRole('table', { name: 'Pods of the cluster' }).getByRole('row');
      await rows.filter({ hasText: 'ring-1' }).filter({ hasText: 'Running' }).waitFor();
      await rows.getByRole('link', { name: 'ring-1' }).click();
      await page.getByText('Rank 1 of its cluster').waitFor();
      expect(await page.getByRole('button', { name: 'Terminate…' }).count()).toBe(0);
      await page.getByRole('link', { name: 'its cluster' }).click();
      await page.getByRole('button', { name: 'Delete…' }).click();
      await page.getByRole('dialog').getByRole('textbox').fill('ring');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No clusters yet').waitFor();
    });

    /** Records of each kind, so that no page is empty; made once for both tests. Returns the pages. */
    async function makeRecords(): Promise<{ paths: string[]; nameOf: (path: string) => string }> {
      const api = new Api(server);
      const id = await api.createEndpoint();
      await api.call('POST', '/v2/templates', { name: 'bare', image: 'podyard/echo-js:dev' });
      await api.call('POST', '/v2/account/secrets', { name: 'OTHER', value: 'canary' });
      await api.call('POST', '/v2/network-volumes', { name: 'models', size: 10, dataCenter: 'LOCAL-1' });
      await api.call('POST', '/v2/registries', { name: 'ours', username: 'me', password: 'p' });
      const tabs = ENDPOINT_SECTIONS.map((tab) => `endpoints/${id}/${tab}`);
      const compute = { gpuTypeId: 'NVIDIA GeForce RTX 4090', gpuCountPerPod: 1, podCount: 2 };
      const cluster = { name: 'ring', type: 'TRAINING', compute, image: 'podyard/web-js:dev' };
      const clusterId = (await api.call<{ id: string }>('POST', '/v2/clusters', cluster)).id;
      const clusters = ['clusters', 'clusters/new', `clusters/${clusterId}`];
      const areas = [
        'endpoints',
        'endpoints/new',
        'pods',
        'pods/new',
        ...clusters,
        'templates',
        'secrets',
        'volumes',
        'registries',
      ];
      return {
        paths: ['', ...areas, 'catalog', 'keys', 'limits', 'billing', ...tabs, 'nowhere'],
        nameOf: (path) => path.replace(id, 'one').replace(clusterId, 'one').replaceAll('/', '-') || 'overview',
      };
    }
    let records: ReturnType<typeof makeRecords> | undefined;

    test.each([
      ['light', 1280],
      ['dark', 390],
    ] as const)('no page has accessibility violations or overflows in %s mode at %i px', async (scheme, width) => {
      const page = await newPage(scheme, width);
      await signIn(page, server);
      records ??= makeRecords();
      const { paths, nameOf } = await records;
      const violations: Record<string, string[]> = {};
      for (const path of paths) {
        await page.goto(`${server.url}/#/${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
        const found = await violationsOf(page);
        if (found.length > 0) violations[path] = found;
        await page.screenshot({ path: `${SCREENSHOTS}${nameOf(path)}-${scheme}-${width}.png` });
        const isWider = await page.evaluate(
          'document.documentElement.scrollWidth > document.documentElement.clientWidth',
        );
        if (isWider) violations[path] = [...(violations[path] ?? []), 'wider than the screen'];
      }
      expect(violations).toEqual({});
    });
  }),
);

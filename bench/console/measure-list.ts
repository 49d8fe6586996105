import { launchBrowser } from '../../test/browser/browser.ts';
import type { ServerProcess } from '../../test/e2e/server-process.ts';

const ENDPOINTS = 10_000;
/** Endpoints that had jobs in each minute of the last hour. */
const BUSY = 1_000;
const OPENED = 7;

/** Copies the endpoint until there are 10,000; 1,000 have an hour of history. */
export async function copyEndpoint(server: ServerProcess, id: string): Promise<void> {
  const [{ columns }] = (await server.query(
    `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
     where table_name = 'endpoints' and column_name not in ('id', 'name', 'workers_min') and is_generated = 'NEVER'`,
  )) as [{ columns: string }];
  await server.query(
    `insert into endpoints (id, name, workers_min, ${columns})
     select 'copy' || n, 'endpoint ' || n * 7919 % ${ENDPOINTS}, 0, ${columns}
     from endpoints, generate_series(2, ${ENDPOINTS}) n where id = $1`,
    [id],
  );
  await server.query(
    `insert into history (kind, subject, span, starts_at, completed, amount, latencies)
     select 'ENDPOINT', 'copy' || n, 'minute', date_trunc('minute', now()) - m * interval '1 minute', 10 + m % 7, 0.01,
            array[54::bigint << 32 | 2, 60::bigint << 32 | 3, 70::bigint << 32 | 3]
     from generate_series(2, ${BUSY + 1}) n, generate_series(1, 60) m`,
  );
  await server.query('analyze');
}

/** Milliseconds from a click on "Endpoints" to the first row: of the first time in a tab, and with the list in memory. */
export async function measureList(server: ServerProcess): Promise<{ first: number[]; again: number[] }> {
  const browser = await launchBrowser();
  const [first, again]: [number[], number[]] = [[], []];
  try {
    for (let i = 0; i < OPENED; i++) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      const open = async () =>
        (await page.evaluate(`(async () => {
          const from = performance.now();
          location.hash = '#/endpoints';
          while (!document.querySelector('[data-row] a[href*=endpoints]')) await new Promise(requestAnimationFrame);
          return performance.now() - from;
        })()`)) as number;
      const leave = async () => {
        await page.goto(`${server.url}/#/keys`);
        await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
      };
      await page.goto(`${server.url}/#/keys`);
      await page.getByLabel('API key').fill(server.key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
      first.push(await open());
      await leave();
      again.push(await open());
      await context.close();
    }
  } finally {
    await browser.close();
  }
  return { first: first.toSorted((a, b) => a - b), again: again.toSorted((a, b) => a - b) };
}

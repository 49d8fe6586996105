/** A day with the command line, on a real terminal: deploy, break it, find out why in two commands, mend, roll out, watch, count the cost. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { meterUsage } from '../../src/domain/billing/meter-usage.ts';
import { currentPrices } from '../../src/domain/billing/price-list.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { hasTmux, RealTerminal } from '../real-terminal.ts';
import { ServerProcess } from './server-process.ts';

const ERROR = 'RuntimeError: CUDA out of memory. Tried to allocate 20.00 GiB';

describe.skipIf(!hasTmux)('a day with the command line', { timeout: 120_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let home: string;
  let terminal: RealTerminal;
  const type = (line: string, status = 0) => terminal.type(line, status);

  beforeAll(async () => {
    database = await createTestDatabase();
    home = await mkdtemp(join(tmpdir(), 'podyard-day-'));
    const images = join(home, 'images.json');
    const broken = { command: ['sh', '-c', `echo '${ERROR}' >&2; exit 1`], directory: home };
    await writeFile(images, JSON.stringify({ 'shop/model:broken': broken }));
    server = await ServerProcess.start({
      runtime: 'process',
      databaseUrl: database.url,
      env: { PODYARD_IMAGES_FILES: images },
    });
    terminal = new RealTerminal(home, { PODYARD_URL: server.url, PODYARD_API_KEY: server.key });
  });
  afterAll(async () => {
    terminal?.close();
    await server?.dispose();
    await database?.drop();
    await rm(home, { recursive: true, force: true });
  });

  test('deploy: an endpoint is created, and runs its first job', async () => {
    await type(
      'podyard endpoints create --name shop --image podyard/echo-js:dev --pool ADA_24 --workers-min 1 --workers-max 2',
    );
    expect(await type(`podyard run shop '{"echo": "hello"}'`)).toContain('hello');
  });

  test('break: a release whose program fails does not get through, and says so while one waits for it', async () => {
    const shown = await type('podyard endpoints update shop --image shop/model:broken --wait', 8);
    expect(shown).toContain(ERROR);
  });

  test('find out why: the list names the reason, and the log has all of it', async () => {
    expect(await type('podyard endpoints list')).toMatch(/shop .*(failing|rolling out|version 2 failed)/);
    expect(await type('podyard workers shop --ended')).toContain('CUDA out of memory');
  });

  test('mend and roll out: the next release gets through, keeps the variables, and jobs run', async () => {
    await type('podyard endpoints update shop --image podyard/echo-js:v2 --env GREETING=hi --wait');
    expect(await type(`podyard run shop '{"env": "GREETING"}'`)).toContain('"env": "hi"');
    expect(await type('podyard releases shop')).toMatch(/^3 .* image, env$/m);
  });

  test('watch: the decisions of the day and its jobs are there', async () => {
    expect(await type('podyard decisions shop')).toMatch(/a job waits|workers\.min/);
    expect((await type('podyard jobs list shop')).match(/COMPLETED/g)?.length).toBeGreaterThanOrEqual(2);
  });

  test('count the cost: today, by endpoint, as CSV', async () => {
    await meterUsage(database.pool, currentPrices(), new Date(Date.now() + 120_000)); // as after each minute
    expect(await type('podyard billing --by endpoint --csv > cost.csv; cat cost.csv')).toContain('shop');
    const [head, ...rows] = (await readFile(join(home, 'cost.csv'), 'utf8')).trim().split('\n');
    expect(head).toContain('total_usd');
    expect(rows.length).toBeGreaterThan(0);
    await type('podyard endpoints delete shop --yes');
  });
});

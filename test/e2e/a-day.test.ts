/** A day with the command line, on a real terminal: deploy, break it, find out why in two commands, mend, roll out, watch, count the cost. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { until } from './api.ts';
import { ServerProcess } from './server-process.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;
const ERROR = 'RuntimeError: CUDA out of memory. Tried to allocate 20.00 GiB';
const hasTmux = (() => {
  try {
    execFileSync('tmux', ['-V']);
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasTmux)('a day with the command line', { timeout: 120_000 }, () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let home: string;
  const socket = `podyard-day-${process.pid}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, ...args], { encoding: 'utf8', env: { ...process.env, HOME: home } });
  const screen = () => tmux('capture-pane', '-p', '-J', '-t', 'day');

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
    await writeFile(
      join(home, 'day.bash'),
      `PS1='$ '; cd ${home}; podyard() { ${process.execPath} ${MAIN} "$@"; }
export PODYARD_URL=${server.url} PODYARD_API_KEY=${server.key}\n`,
    );
    tmux('new-session', '-d', '-s', 'day', '-x', '160', '-y', '40', 'env', '-u', 'CI', 'bash', '--norc');
    tmux('send-keys', '-t', 'day', `source ${home}/day.bash`, 'Enter');
  });
  afterAll(async () => {
    try {
      tmux('kill-server');
    } catch {
      // It did not start.
    }
    await server?.dispose();
    await database?.drop();
    await rm(home, { recursive: true, force: true });
  });

  let typed = 0;
  /** Types a command line and returns what the screen shows when it has ended with `status`. */
  async function type(line: string, status = 0): Promise<string> {
    const mark = `end-${++typed}`; // what is on the screen may be an earlier command's
    tmux('send-keys', '-t', 'day', `clear; ${line}; echo "${mark} $?"`, 'Enter');
    const text = await until(`'${line}' ends`, async () => {
      const shown = screen();
      return new RegExp(`^${mark} \\d+$`, 'm').test(shown) ? shown : undefined;
    });
    expect(text).toContain(`${mark} ${status}`);
    return text;
  }

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
    const isThere = async () => /shop/.test(await type('podyard billing --by endpoint --csv > cost.csv; cat cost.csv'));
    await until('the minute is metered', isThere, 90_000);
    const [head, ...rows] = (await readFile(join(home, 'cost.csv'), 'utf8')).trim().split('\n');
    expect(head).toContain('total_usd');
    expect(rows.length).toBeGreaterThan(0);
    await type('podyard endpoints delete shop --yes');
  });
});

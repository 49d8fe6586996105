/** A day with the command line, on a real terminal: deploy, break it, find out why in two commands, mend, roll out, watch, deploy a folder, count the cost. */

import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { meterUsage } from '../../src/domain/billing/meter-usage.ts';
import { currentPrices } from '../../src/domain/billing/price-list.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { MAIN } from '../podyard-main.ts';
import { until } from './api.ts';
import { ServerProcess } from './server-process.ts';

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

  test('a folder: init, deploy, change a line, break it, read why, roll back', async () => {
    await type('mkdir hello && cd hello && podyard init --template javascript');
    const deployed = await type('podyard deploy');
    expect(deployed).toContain('+ image  to build: default of handler.js, no dependencies');
    expect(deployed).toContain('Version 1 is rolled out');
    expect(await type(`podyard run hello '{"name": "Ada"}'`)).toContain('Hello, Ada!');
    expect(await type('podyard deploy')).toContain('Nothing changed: hello');

    await type('sed -i s/Hello/Goodbye/ handler.js');
    expect(await type('podyard deploy')).toContain('Version 2 is rolled out');
    expect(await type(`podyard run hello '{"name": "Ada"}'`)).toContain('Goodbye, Ada!');

    await type(`echo "throw new Error('the model is missing');" >> handler.js`);
    const broken = await type('podyard deploy', 8);
    expect(broken).toMatch(/version 3 failed its trial: .*\n(?:.*\n)*?.*the model is missing/);
    expect(broken).toContain('To roll back:     podyard rollback hello');
    expect(await type('podyard logs hello')).toContain('the model is missing');
    await type('podyard rollback hello');
    expect(await type(`podyard run hello '{"name": "Ada"}'`)).toContain('Goodbye, Ada!');
  });

  test('dev: what is saved runs, and Ctrl-C ends it', async () => {
    await type('sed -i /missing/d handler.js');
    tmux('send-keys', '-t', 'day', 'clear; podyard dev --port 0', 'Enter');
    const shown = await until('dev serves', async () => (screen().includes('Ctrl-C ends it') ? screen() : undefined));
    const [, url, authorization] = /curl -X POST (\S+) -H 'Authorization: (.+?)'/.exec(shown)!;
    const answer = async () => {
      const headers = { authorization: authorization!, 'content-type': 'application/json' };
      const response = await fetch(url!, { method: 'POST', headers, body: '{"input": {"name": "Ada"}}' });
      return JSON.stringify(((await response.json()) as { output?: unknown }).output);
    };
    expect(await answer()).toContain('Goodbye, Ada!');
    const file = join(home, 'hello/handler.js');
    await writeFile(file, (await readFile(file, 'utf8')).replace('Goodbye', 'Good night'));
    await until('the new code answers', async () => (await answer()).includes('Good night, Ada!'));
    await until('the change is said', async () => screen().includes('… handler.js has changed: running the new code'));
    tmux('send-keys', '-t', 'day', 'C-c', '');
    await until('the prompt is back', async () => screen().trimEnd().endsWith('$'));
    await type('podyard endpoints delete hello --yes; cd ..');
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

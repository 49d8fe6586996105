import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { appendLogLines } from '../../domain/logs/append-log-lines.ts';
import { recognizeLevel } from '../../domain/logs/log-level.ts';
import { beginLogSegment, dropLogSegment, listLogSegments } from '../../domain/logs/log-segments.ts';

let cli: CliFixture;
beforeAll(async () => {
  cli = await startCliFixture();
  const { rest } = cli;
  const made = await cli.json(['endpoints', 'create', '--name', 'talks', '--image', 'i:1', '--pool', 'ADA_24']);
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, exited_at, created_at)
     select id, $1, $2, 1, '', '{}', 'EXITED', now(), now() - interval '2 days' from unnest(array['w1', 'w2']) id`,
    [made.id, rest.alice.userId],
  );
  const lines = [
    'INFO up',
    'ERROR CUDA out of memory',
    'cuda again',
    ...Array.from({ length: 1_200 }, (_, i) => `n${i}`),
  ];
  await appendLogLines(
    rest.database.pool,
    lines.map((line, i) => ({
      workloadId: i % 2 === 0 ? 'w1' : 'w2',
      ts: new Date(Date.now() - (i < 3 ? 86_400_000 : 0)),
      source: 'container',
      line,
      level: recognizeLevel(line, null),
    })),
  );
  await rest.database.pool.query('update log_lines set stored_at = ts');
});
afterAll(() => cli.close());

const logs = async (...options: string[]) => {
  const { status, out, err } = await cli.podyard(['logs', 'talks', ...options]);
  expect({ status, err }).toEqual({ status: 0, err: out === '' ? 'No lines match.' : '' });
  return out.split('\n').filter((line) => line !== '');
};

test('a search finds lines of all workers, each with its worker', async () => {
  expect(await logs('--search', 'cuda')).toEqual([
    expect.stringMatching(/^\S+Z w2 ERROR CUDA out of memory$/),
    expect.stringMatching(/^\S+Z w1 cuda again$/),
  ]);
  expect(await logs('--search', 'cuda', '--worker', 'w1')).toEqual([expect.stringMatching(/^\S+Z cuda again$/)]);
});

test('a level takes more severe lines too, and times may be ages', async () => {
  expect(await logs('--level', 'warn')).toEqual([expect.stringContaining('ERROR CUDA')]);
  expect(await logs('--level', 'info', '--until', '1h')).toHaveLength(2);
  expect(await logs('--level', 'info', '--since', '1h')).toEqual([]);
});

test('more lines than a page of the server has are read page by page', async () => {
  const all = await logs('--all', '--tail', '1150');
  expect(all).toHaveLength(1_150);
  expect(all.at(-1)).toMatch(/ w1 n1199$/);
});

test('options that exclude each other, and values that are none, are usage errors', async () => {
  for (const options of [
    ['--follow', '--until', '1h'],
    ['--level', 'loud'],
    ['--since', 'yesterday'],
  ]) {
    expect((await cli.podyard(['logs', 'talks', ...options])).status).toBe(2);
  }
});

const JOB = '019aa0f3-9a4e-7c11-9d2b-5f0c7a61e3b4-u1';
const OTHER = '019aa0f3-9a4e-7c11-9d2b-5f0c7a61e3b5-u1';
const TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no voice\u001b[2J';

/** Lines of a worker that ran a job, and another one beside it. */
async function logJob(): Promise<void> {
  const { database, alice } = cli.rest;
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, created_at)
     select 'w3', id, $1, 1, '', '{}', 'RUNNING', now() from endpoints where name = 'talks'`,
    [alice.userId],
  );
  await database.pool.query(
    `insert into finished_jobs (id, keep_until, endpoint_id, status, low_priority, is_sync, input, ttl_ms, worker_id, attempt,
       created_at, started_at, finished_at)
     select $1, now() + interval '1 h', id, 'FAILED', false, false, '1', 1000, 'w3', 1,
       now() - interval '60 s', now() - interval '50 s', now() - interval '10 s'
     from endpoints where name = 'talks'`,
    [JOB],
  );
  const write = (agoMs: number, line: string | object) => ({
    workloadId: 'w3',
    ts: new Date(Date.now() - agoMs),
    source: 'container' as const,
    line: typeof line === 'string' ? line : JSON.stringify(line),
    level: null,
  });
  await appendLogLines(database.pool, [
    write(55_000, 'before the job'),
    write(40_000, 'printed'),
    write(35_000, { requestId: OTHER, message: 'of another', level: 'INFO' }),
    write(30_000, { requestId: JOB, message: 'ValueError: no voice', level: 'ERROR', traceback: TRACEBACK }),
    write(25_000, { requestId: null, message: 'two\n2026-11-26T00:00:00.000Z forged', level: 'INFO' }),
    write(1_000, 'after the job'),
  ]);
}

test('the lines of a job are readable: level, job and message, and the traceback on lines of its own', async () => {
  await logJob();
  expect(await logs('--job', JOB)).toEqual([
    expect.stringMatching(/^\S+Z printed$/),
    expect.stringMatching(/^\S+Z ERROR 019aa0f3…7a61e3b4-u1 ValueError: no voice$/),
    '    Traceback (most recent call last):',
    '      File "a.py", line 1',
    '    ValueError: no voice\\x1b[2J',
    expect.stringMatching(/^\S+Z INFO {2}two$/),
    '    2026-11-26T00:00:00.000Z forged',
  ]);
  expect(await logs('--job', JOB, '--tail', '1')).toHaveLength(2);
  const raw = await logs('--job', JOB, '--json', '--search', 'voice');
  expect(raw.map((line) => JSON.parse(line))).toMatchObject([
    { workerId: 'w3', line: expect.stringContaining(OTHER.slice(0, 8)) },
  ]);
  expect(JSON.parse(JSON.parse(raw[0]!).line)).toMatchObject({ requestId: JOB, traceback: TRACEBACK });
});

test('a level has its color on a terminal', async () => {
  const { out } = await cli.podyard(['logs', 'talks', '--job', JOB], { screen: { columns: 80, hasColors: true } });
  expect(out).toContain('\u001b[31mERROR\u001b[0m \u001b[2m019aa0f3…7a61e3b4-u1\u001b[0m ValueError: no voice\n');
});

test('a job that is not kept has the lines that name it, and --job goes with no worker', async () => {
  const { status, out, err } = await cli.podyard(['logs', 'talks', '--job', OTHER]);
  expect({ status, err }).toEqual({
    status: 0,
    err: `Job ${OTHER} is not kept, or never was: these are the lines that name it.`,
  });
  expect(out).toMatch(/^\S+Z w3 INFO {2}019aa0f3…7a61e3b5-u1 of another\n$/);
  expect((await cli.podyard(['logs', 'talks', '--job', JOB, '--all'])).status).toBe(2);
});

test('lines of a time that have been removed are missed aloud', async () => {
  const { pool } = cli.rest.database;
  const [segment] = await listLogSegments(pool);
  await beginLogSegment(pool);
  await dropLogSegment(pool, segment!);
  const { err } = await cli.podyard(['logs', 'talks', '--all', '--since', '2d']);
  expect(err).toMatch(/^Lines from before \S+Z have been removed: the server keeps no older ones\.$/m);
  expect(await logs('--all', '--until', '1h')).toEqual([]);
});

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
  expect({ status, err }).toEqual({ status: 0, err: out === '' ? 'No line matches.' : '' });
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

test('lines of a time that have been removed are missed aloud', async () => {
  const { pool } = cli.rest.database;
  const [segment] = await listLogSegments(pool);
  await beginLogSegment(pool);
  await dropLogSegment(pool, segment!);
  const { err } = await cli.podyard(['logs', 'talks', '--all', '--since', '2d']);
  expect(err).toMatch(/^Lines from before \S+Z have been removed: the server keeps no older ones\.$/m);
  expect(await logs('--all', '--until', '1h')).toEqual([]);
});

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { testTerminal } from '../../../test/test-terminal.ts';
import type { EndpointId } from '../../core/ids.ts';
import { endTrial } from '../../domain/releases/trial-store.ts';
import type { TrialEnd } from '../../scaling/decide-trial.ts';
import { ApiClient } from '../shared/api-client.ts';
import { watchRollout } from './rollout.ts';

let cli: CliFixture;
let id: EndpointId;
beforeAll(async () => {
  cli = await startCliFixture();
});
afterAll(() => cli.close());
beforeEach(async () => {
  await cli.podyard(['endpoints', 'delete', 'echo', '--yes']);
  id = (await cli.json(['endpoints', 'create', 'echo', '--image', 'i:1', '--pool', 'ADA_24'])).id;
});

const sql = (text: string, ...values: unknown[]) => cli.rest.database.pool.query(text, values).then(({ rows }) => rows);
const update = (...more: string[]) => cli.podyard(['endpoints', 'update', 'echo', '--image', 'i:2', '--wait', ...more]);
/** Ends the trial as control does, once it was asked for. */
async function endAs(end: TrialEnd, version = 2): Promise<void> {
  while (!(await endTrial(cli.rest.database.pool, { id, version }, end))) await new Promise(setImmediate);
}
const CRASH: TrialEnd = {
  state: 'FAILED',
  workerId: 'w1',
  reason: 'it exited with code 1:\nTraceback (most recent call last):\nKeyError: \u001b[31m',
};

test('--wait ends once a worker was ready, although none runs any more', async () => {
  const [run] = await Promise.all([update(), endAs({ state: 'PASSED', workerId: 'w1', reason: null })]);
  expect(run.status).toBe(0);
  expect(run.err).toContain('Version 2 is rolled out: a worker of it was ready, and none is needed now.');
});

test('--wait exits with 8 when the trial fails, with the last lines, who serves, and how to go on', async () => {
  const [run] = await Promise.all([update(), endAs(CRASH)]);
  expect(run.status).toBe(8);
  expect(run.err.slice(run.err.indexOf('podyard:'))).toBe(
    [
      'podyard: version 2 failed its trial: it exited with code 1:',
      '  Traceback (most recent call last):',
      '  KeyError: \u001b[31m',
      'Version 1 goes on serving.',
      'To roll back:     podyard rollback echo',
      'To try it again:  podyard rollout echo --try',
    ].join('\n'),
  );
  expect((await cli.podyard(['rollout', 'echo', '--json'])).status).toBe(8);
  expect((await cli.podyard(['endpoints', 'get', 'echo'])).out).toContain('version 2 failed its trial');
});

test('the roll-back that is offered leads to the release that serves', async () => {
  const [first] = await Promise.all([update(), endAs(CRASH)]);
  expect(first.status).toBe(8);
  const again = cli.podyard(['endpoints', 'update', 'echo', '--image', 'i:3', '--wait']);
  await endAs(CRASH, 3);
  expect((await again).err).toContain('To roll back:     podyard rollback echo --to 1\n');
});

test('a failed trial is waited for again with --try', async () => {
  await Promise.all([update(), endAs(CRASH)]);
  const again = cli.podyard(['rollout', 'echo', '--try']);
  await endAs({ state: 'PASSED', workerId: 'w2', reason: null });
  expect(await again).toMatchObject({ status: 0, err: expect.stringContaining('Version 2 is rolled out') });
});

/** Watches an open trial; calls `onFirst` once it has said what that waits for. Resolves with what it noted after that. */
async function watch(onFirst: () => Promise<unknown>): Promise<string[]> {
  await cli.podyard(['endpoints', 'update', 'echo', '--image', 'i:2']);
  await cli.rest.call('POST', `/v2/serverless/${id}/rollout`, { key: cli.rest.alice.key, body: { action: 'try' } });
  const terminal = testTerminal({});
  const notes: string[] = [];
  let first: Promise<unknown> | undefined;
  const note = (text: string) => {
    notes.push(text);
    first ??= onFirst();
  };
  const client = new ApiClient({ url: cli.url, key: cli.rest.alice.key }, terminal);
  await watchRollout(client, { id, name: 'echo' }, { print: note, note, terminal }).finally(() => first);
  return notes.slice(1);
}

test('an endpoint that is deleted meanwhile was not rolled out', async () => {
  await expect(watch(() => cli.podyard(['endpoints', 'delete', 'echo', '--yes']))).rejects.toMatchObject({
    status: 404,
    message: 'echo was deleted before it was rolled out',
  });
});

test('a version that another one replaces meanwhile is told', async () => {
  const notes = await watch(async () => {
    const second = cli.podyard(['endpoints', 'update', 'echo', '--image', 'i:3', '--wait']);
    await endAs({ state: 'PASSED', workerId: 'w1', reason: null }, 3);
    await second;
  });
  expect(notes[0]).toBe('Version 3 was made meanwhile, and replaces version 2.');
  // The second update asks for the trial after the change: a snapshot from between them has a version without a trial.
  expect(notes.at(-1)).toMatch(/^(Version 3 is rolled out|No worker has run version 3 yet)/);
});

test('--no-trial, workers.max 0 and a paused roll-out skip it, and say so', async () => {
  expect(await update('--no-trial')).toMatchObject({
    status: 0,
    err: 'Version 2 was not tried: it was asked to roll out without one. 0 of 0 workers run it.',
  });
  expect(await sql('select state from release_trials where endpoint_id = $1', id)).toEqual([{ state: 'SKIPPED' }]);
  expect((await update('--image', 'i:3', '--workers-max', '0')).err).toBe(
    'Version 3 was not tried: workers.max is 0, so nothing runs. 0 of 0 workers run it.',
  );
  await cli.podyard(['rollout', 'echo', '--pause']);
  expect((await update('--image', 'i:4', '--workers-max', '1')).err).toBe(
    'Version 4 was not tried: the roll-out is paused. 0 of 0 workers run it.',
  );
  expect((await cli.podyard(['rollback', 'echo', '--no-trial'])).err).toContain('Version 5 was not tried');
  expect((await cli.podyard(['rollout', 'echo', '--try', '--no-trial'])).status).toBe(2);
});

test('a release that nobody tried is not called rolled out', async () => {
  expect(await cli.podyard(['rollout', 'echo'])).toMatchObject({
    status: 0,
    err: 'No worker has run version 1 yet: the next one starts on it. To try it: podyard rollout echo --try',
  });
});

test('an update without --wait asks for no trial', async () => {
  expect((await cli.podyard(['endpoints', 'update', 'echo', '--image', 'i:2'])).status).toBe(0);
  expect(await sql('select from release_trials where endpoint_id = $1', id)).toEqual([]);
});

test('it says what a trial waits for, until Ctrl-C', async () => {
  await cli.rest.call('POST', `/v2/serverless/${id}/rollout`, { key: cli.rest.alice.key, body: { action: 'try' } });
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase_reason)
     values ('w1', $1, $2, 1, '', '{}', 'no capacity: ADA_24 has 0 GPUs free')`,
    id,
    cli.rest.alice.userId,
  );
  const terminal = testTerminal({});
  const notes: string[] = [];
  const note = (text: string) => {
    notes.push(text);
    terminal.interrupt();
  };
  const client = new ApiClient({ url: cli.url, key: cli.rest.alice.key }, terminal);
  await watchRollout(client, { id, name: 'echo' }, { print: note, note, terminal });
  expect(notes).toEqual([
    '0 of 1 workers run it; a new worker waits for capacity: no capacity: ADA_24 has 0 GPUs free',
  ]);
  await sql('delete from workers');
});

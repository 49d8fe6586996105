import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import type { EndpointId } from '../../../core/ids.ts';
import { listDecisions } from '../../../domain/decisions/record-decision.ts';
import { getEndpointState } from '../../../domain/endpoints/list-endpoint-states.ts';
import { updateEndpoint } from '../../../domain/endpoints/update-endpoint.ts';
import { writeLimits } from '../../../domain/quotas/limit-store.ts';
import { changeRollout, type ROLLOUT_ACTIONS } from '../../../domain/releases/change-rollout.ts';
import { listReleases, type Rollout } from '../../../domain/releases/list-releases.ts';
import { rollbackRelease } from '../../../domain/releases/rollback-release.ts';
import { bareTrial } from '../../../domain/releases/trial.ts';
import type { Behaviour } from '../../../runtimes/simulated/simulated-world.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 30_000, interval: 20 };

const TRACEBACK = ['Traceback (most recent call last):', "KeyError: 'TOKEN'"];
const CRASH: Partial<Behaviour> = {
  exitAfterMs: 5,
  exitCode: 1,
  lines: (n) => (TRACEBACK[n] === undefined ? undefined : { atMs: n, line: TRACEBACK[n] }),
};
const POOL = { pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'DC-1', total: 1_000 };

/** Arguments of workers that crash, until a test repairs them: those of `release` are the name of the image. */
const broken = new Set<string>();
const world = new SimulatedWorld({
  pools: [POOL],
  behave: ({ args }) => (broken.has(args) ? CRASH : {}), // a worker starts a digest, and knows no tag
  pull: (image) => (image.startsWith('gone') ? { failure: `no image '${image}'` } : { ms: 0 }),
});
let control: ControlLoops;
beforeAll(async () => {
  control = await ControlLoops.start(world);
});
afterAll(() => control.close());
afterEach(() => writeLimits(control.database.pool, null, { gpus: 'DEFAULT' }));

interface Live {
  id: string;
  version: number;
  phase: string;
  isReady: boolean;
}

const trialOf = async (id: EndpointId) => (await rolloutOf(id)).trial;
const rolloutOf = async (id: EndpointId): Promise<Rollout> =>
  (await listReleases(control.database.pool, control.userId, id)).rollout;
const stateOf = (id: EndpointId) => getEndpointState(control.database.pool, control.userId, id, Date.now());
const act = (id: EndpointId, action: (typeof ROLLOUT_ACTIONS)[number]) => control.change(changeRollout, { id, action });
const release = (id: EndpointId, image: string) =>
  control.change(updateEndpoint, { id, update: { image, args: image } });
/** The workers that are to work. */
const live = (id: EndpointId): Promise<Live[]> =>
  control.sql(
    `select id, version, phase, ready_at is not null as "isReady" from workers
     where endpoint_id = $1 and phase <> 'EXITED' and wanted = 'RUN' order by created_at, id`,
    id,
  );
const ofVersion = (id: EndpointId, version: number) =>
  vi.waitFor(async () => {
    const worker = (await live(id)).find((one) => one.version === version && one.phase === 'RUNNING');
    expect(worker).toBeDefined();
    return worker!;
  }, soon);
const ends = (id: EndpointId, state: string) =>
  vi.waitFor(async () => {
    const trial = await trialOf(id);
    expect(trial.state).toBe(state);
    return trial;
  }, soon);
/** An endpoint whose version 2 has an image of this name, and whose version 1 was never tried. */
const endpointWith = async (image: string, fields: Parameters<ControlLoops['endpoint']>[0] = {}) => {
  const id = await control.endpoint({ workers: { min: 0, max: 2 }, ...fields });
  await release(id, image);
  return id;
};
const IDLE_SOON = { type: 'REQUEST_COUNT', value: 1, idleTimeoutSeconds: 1 } as const;

test('a release that nobody asked to try starts no worker', async () => {
  const id = await endpointWith('good:2');
  const asked = await endpointWith('good:2');
  await act(asked, 'try');
  await ofVersion(asked, 2);
  expect(await control.sql('select from workers where endpoint_id = $1', id)).toEqual([]);
  expect(await trialOf(id)).toEqual(bareTrial('NOT_TRIED'));
});

test('a trial starts one worker, passes when that is ready, and the worker leaves when it was idle', async () => {
  const id = await endpointWith('good:2', { scaling: IDLE_SOON });
  expect((await act(id, 'try')).trial).toMatchObject({ state: 'WAITING', workerId: null });
  const worker = await ofVersion(id, 2);
  expect(await trialOf(id)).toMatchObject({ state: 'RUNNING', workerId: worker.id, reason: null });
  await control.becomeReady(id, worker.id);
  expect(await ends(id, 'PASSED')).toEqual({ ...bareTrial('PASSED'), workerId: worker.id });
  await vi.waitFor(async () => expect(await live(id)).toEqual([]), soon);
  const started = await control.sql('select wanted_reason as reason from workers where endpoint_id = $1', id);
  expect(started).toEqual([{ reason: expect.stringMatching(/^idle for \d+ s, the idle timeout is 1 s$/) }]);
  const decisions = await control.sql(
    `select a ->> 'cause' as cause, a ->> 'reason' as reason from scaling_decisions, jsonb_array_elements(actions) a
     where endpoint_id = $1 and a ->> 'kind' = 'start'`,
    id,
  );
  expect(decisions).toEqual([{ cause: 'TRIAL', reason: 'version 2 is tried' }]);
  await act(id, 'try'); // it has passed
  expect((await trialOf(id)).state).toBe('PASSED');
});

test('a release that has had a ready worker passes without another one', async () => {
  const id = await endpointWith('good:2');
  await control.submit(id);
  const worker = await ofVersion(id, 2);
  await control.becomeReady(id, worker.id);
  await act(id, 'try');
  expect((await ends(id, 'PASSED')).workerId).toBe(worker.id);
  expect(await control.sql('select id from workers where endpoint_id = $1', id)).toEqual([{ id: worker.id }]);
});

test('a trial fails with the first worker that exits, and shows its last lines', async () => {
  broken.add('crash:2');
  const id = await endpointWith('crash:2');
  await act(id, 'try');
  const trial = await ends(id, 'FAILED');
  expect(trial).toEqual({
    state: 'FAILED',
    reason: 'it exited with code 1',
    lines: TRACEBACK,
    workerId: expect.any(String),
    servingVersion: 1,
  });
  expect((await control.sql('select id from workers where endpoint_id = $1', id)).length).toBe(1);
  expect((await stateOf(id)).warnings).toEqual([
    'version 2 failed its trial, and version 1 serves instead: it exited with code 1',
  ]);
  const entries = await control.sql(
    `select actor_kind as by, owner_id as owner, reason from audit_entries
     where record_id = $1 and operation = 'endpoint.fail-trial'`,
    id,
  );
  expect(entries).toEqual([
    { by: 'system', owner: control.userId, reason: expect.stringMatching(/^version 2 failed its trial: [^\n]+$/) },
  ]);
});

test.each<[string, string, Record<string, string>, RegExp]>([
  ['whose image cannot be pulled', 'gone:2', {}, /no image 'gone:2'/],
  ['that never becomes ready', 'slow:2', { RUNPOD_INIT_TIMEOUT: '1' }, /^it was not ready within 1 s/],
  ['that lacks a secret', 'secret:2', { KEY: '{{ RUNPOD_SECRET_nothing }}' }, /nothing/],
])('a release %s fails its trial', async (_, image, env, reason) => {
  const id = await control.endpoint({ workers: { min: 0, max: 2 } });
  await control.change(updateEndpoint, { id, update: { image, env } });
  await act(id, 'try');
  expect((await ends(id, 'FAILED')).reason).toMatch(reason);
  await vi.waitFor(async () => expect(await live(id)).toEqual([]), soon);
});

test('a release whose worker reports itself unhealthy before it is ready fails its trial', async () => {
  const id = await endpointWith('sick:2');
  await act(id, 'try');
  const { id: workerId } = await ofVersion(id, 2);
  await control.sql(
    `insert into worker_activity (worker_id, unhealthy_reason, seen_at) values ($1, 'gpu: no memory', now())
     on conflict (worker_id) do update set unhealthy_reason = excluded.unhealthy_reason`,
    workerId,
  );
  expect(await ends(id, 'FAILED')).toMatchObject({ reason: 'unhealthy: gpu: no memory', workerId });
});

test('ready workers of the older release stay while the newer one is tried, and serve on when it fails', async () => {
  const id = await control.endpoint({ workers: { min: 0, max: 3 } });
  await control.submit(id);
  const old = await ofVersion(id, 1);
  await control.becomeReady(id, old.id);
  broken.add('crash:served');
  await release(id, 'crash:served');
  await act(id, 'try');
  await ends(id, 'FAILED');
  await control.submit(id);
  await vi.waitFor(async () => {
    const workers = await live(id);
    expect(workers.map(({ version }) => version)).toEqual([1, 1]);
    expect(workers[0]!.id).toBe(old.id);
  }, soon);
  expect(await rolloutOf(id)).toMatchObject({ workersOnLatest: 0, workersTotal: 2, inProgress: true });
  expect((await stateOf(id)).state).not.toBe('FAILING');
});

test('with everything at zero, work is done by the older release while the newest has failed', async () => {
  broken.add('crash:zero');
  const id = await endpointWith('crash:zero');
  await act(id, 'try');
  await ends(id, 'FAILED');
  await control.submit(id);
  const worker = await ofVersion(id, 1);
  await control.becomeReady(id, worker.id);
  const rows = await control.sql(
    'select version, spec, wanted from workers where endpoint_id = $1 order by created_at',
    id,
  );
  expect(rows.map(({ version }) => version)).toEqual([2, 1]);
  expect(rows[1].spec.image).toBe('any:v1');
  expect(await stateOf(id)).toMatchObject({
    state: 'HEALTHY',
    warnings: [expect.stringContaining('version 2 failed')],
  });
});

test('limits count the GPUs of the release that serves, not those of the one that failed', async () => {
  broken.add('crash:gpus');
  const id = await control.endpoint({ gpu: { pools: ['ADA_24'], count: 2 }, workers: { min: 0, max: 9 } });
  await control.change(updateEndpoint, { id, update: { args: 'crash:gpus', gpu: { count: 1 } } });
  await act(id, 'try');
  await ends(id, 'FAILED');
  const { rows } = await control.database.pool.query(
    'select sum(gpu_count)::int as gpus from workers where phase <> $1',
    ['EXITED'],
  );
  await writeLimits(control.database.pool, null, { gpus: (rows[0].gpus ?? 0) + 5 });
  for (let n = 0; n < 4; n++) await control.submit(id);
  await vi.waitFor(async () => {
    const { reason } = (await listDecisions(control.database.pool, control.userId, id, 1))[0]!;
    expect(reason).toMatch(/^[34] jobs at 1 a worker; the user's limit 'gpus' of \d+ allows 2/);
  }, soon);
  const gpus = await control.sql(
    "select version, gpu_count as count from workers where endpoint_id = $1 and phase <> 'EXITED'",
    id,
  );
  expect(gpus).toEqual(Array(2).fill({ version: 1, count: 2 }));
});

test('the release that serves is the newest that is not known to fail, and was not replaced before it was tried', async () => {
  for (const image of ['crash:a', 'crash:b']) broken.add(image);
  const id = await endpointWith('crash:a');
  await act(id, 'try');
  await ends(id, 'FAILED');
  await control.sql('update endpoints set workers_max = 0 where id = $1', id);
  await release(id, 'good:open');
  await control.sql(`insert into release_trials (endpoint_id, version, state) values ($1, 3, 'ASKED')`, id);
  await release(id, 'crash:b');
  await control.sql('update endpoints set workers_max = 2 where id = $1', id);
  await act(id, 'try');
  await ends(id, 'FAILED');
  await control.submit(id);
  await ofVersion(id, 1);
});

test('a failed trial is tried again when the user asks, and its release takes over when it passes', async () => {
  broken.add('crash:again');
  const id = await endpointWith('crash:again');
  await act(id, 'try');
  await ends(id, 'FAILED');
  await control.submit(id);
  const old = await ofVersion(id, 1);
  await control.becomeReady(id, old.id);
  broken.delete('crash:again');
  await act(id, 'try');
  const worker = await ofVersion(id, 2);
  expect((await live(id)).map((one) => one.id)).toContain(old.id);
  await control.becomeReady(id, worker.id);
  await ends(id, 'PASSED');
  await vi.waitFor(async () => expect((await live(id)).map((one) => one.id)).toEqual([worker.id]), soon);
});

test('a failed trial without an earlier release is tried again without the rest of the backoff', async () => {
  broken.add('crash:first');
  const id = await control.endpoint({ args: 'crash:first', workers: { min: 1, max: 1 } });
  await act(id, 'try');
  await ends(id, 'FAILED');
  await vi.waitFor(async () => {
    const [waiting] = await control.sql(
      "select 1 from workers where endpoint_id = $1 and phase = 'PENDING' and not_before > now() + interval '3 s'",
      id,
    );
    expect(waiting).toBeDefined();
  }, soon);
  broken.delete('crash:first');
  await act(id, 'try');
  const askedAt = performance.now();
  const worker = await ofVersion(id, 1);
  expect(performance.now() - askedAt).toBeLessThan(3_000);
  await control.becomeReady(id, worker.id);
  await ends(id, 'PASSED');
});

test('the next release, a roll-back and skipping the trial end the service of the older release', async () => {
  broken.add('crash:end');
  const failed = async () => {
    const id = await endpointWith('crash:end');
    await act(id, 'try');
    await ends(id, 'FAILED');
    return id;
  };
  const next = await failed();
  await release(next, 'good:3');
  expect((await trialOf(next)).state).toBe('NOT_TRIED');
  await control.submit(next);
  await ofVersion(next, 3);

  const back = await failed();
  const { releases } = await listReleases(control.database.pool, control.userId, back);
  await control.change(rollbackRelease, { id: back, releaseId: releases.at(-1)!.id });
  await act(back, 'try');
  await ofVersion(back, 3);

  const skipped = await failed();
  expect((await act(skipped, 'skip-trial')).trial).toMatchObject({
    state: 'SKIPPED',
    reason: 'it was asked to roll out without one',
  });
  broken.delete('crash:end');
  await control.submit(skipped);
  await ofVersion(skipped, 2);
});

test('workers.max 0 and a paused roll-out skip a trial, before and while it is open', async () => {
  const max = 'workers.max is 0, so nothing runs';
  const none = await endpointWith('good:2', { workers: { min: 0, max: 0 } });
  expect((await act(none, 'try')).trial).toMatchObject({ state: 'SKIPPED', reason: max });
  const paused = await endpointWith('good:2');
  await act(paused, 'pause');
  expect((await act(paused, 'try')).trial).toMatchObject({ state: 'SKIPPED', reason: 'the roll-out is paused' });
  await act(paused, 'resume');
  await act(paused, 'try');
  await ofVersion(paused, 2);
  await act(paused, 'pause');
  expect((await ends(paused, 'SKIPPED')).reason).toBe('the roll-out is paused');
  const lowered = await endpointWith('good:2');
  await act(lowered, 'try');
  await ofVersion(lowered, 2);
  await control.change(updateEndpoint, { id: lowered, update: { workers: { max: 0 } } });
  expect((await ends(lowered, 'SKIPPED')).reason).toBe(max);
});

test('a trial waits for capacity and for limits of its user as any worker does, and says so', async () => {
  const id = await endpointWith('good:2', { gpu: { pools: ['ADA_24'], count: 4_000 } });
  await act(id, 'try');
  await vi.waitFor(async () => {
    expect(await trialOf(id)).toMatchObject({ state: 'WAITING', reason: expect.stringMatching(/^no capacity: /) });
  }, soon);
  const limited = await endpointWith('good:2');
  await control.sql(
    `insert into budgets (id, user_id, endpoint_id, owner, amount, action, notify_at, month, spent)
     values ('b', $1, $2, 'USER', 5, 'STOP', '{}', date_trunc('month', now() at time zone 'UTC')::date, 5)`,
    control.userId,
    limited,
  );
  await act(limited, 'try');
  await vi.waitFor(async () => {
    const reason = expect.stringContaining('version 2 is tried; the endpoint’s monthly budget of 5 USD is used up');
    expect(await trialOf(limited)).toMatchObject({ state: 'WAITING', workerId: null, reason });
  }, soon);
  expect(await live(limited)).toEqual([]);
  await control.sql('delete from budgets');
  control.notify(limited);
  await ofVersion(limited, 2);
});

test('two releases, one after the other: the trial is of the newest', async () => {
  broken.add('crash:two');
  const id = await endpointWith('crash:two');
  await act(id, 'try');
  await release(id, 'good:two');
  await act(id, 'try');
  const worker = await ofVersion(id, 3);
  await control.becomeReady(id, worker.id);
  expect((await ends(id, 'PASSED')).workerId).toBe(worker.id);
});

test('a deleted endpoint takes its trial along', async () => {
  const id = await endpointWith('good:2');
  await act(id, 'try');
  await ofVersion(id, 2);
  await control.sql('delete from endpoints where id = $1', id);
  expect(await control.sql('select from release_trials where endpoint_id = $1', id)).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';

const USAGE = { cpuUtil: 12.5, memoryUtil: 33, gpus: [{ util: 87, memoryUtil: 41 }] };
let cli: CliFixture;
let endpointId: string;
beforeAll(async () => {
  cli = await startCliFixture({
    podFigures: { read: async ([asked]) => new Map(asked === 'wbusy' ? [[asked, USAGE] as const] : []) },
  });
  const body = { name: 'chat', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  endpointId = (await cli.rest.call('POST', '/v2/serverless', { key: cli.rest.alice.key, body })).json().id;
});
afterAll(() => cli.close());

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);

async function insertWorker(id: string, phase: string, timeline: object): Promise<void> {
  await cli.rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, created_at, phase, timeline, started_at)
     values ($1, $2, $3, 1, 'a job waits', '{"image":"podyard/echo:1"}', $4, $5, $6, $7)`,
    [id, endpointId, cli.rest.alice.userId, at(0), phase, timeline, phase === 'PENDING' ? null : at(6)],
  );
}

test('a worker is shown with how long its start took and what it uses now', async () => {
  const marks = { capacityAt: at(1), pullAt: at(3), createAt: at(4), startAt: at(6), readyAt: at(6.25) };
  await insertWorker('wbusy', 'RUNNING', marks);
  const { status, out } = await cli.podyard(['workers', 'chat', 'wbusy']);
  expect(status).toBe(0);
  const shown = Object.fromEntries(out.split('\n').map((line) => line.trim().split(/ {2,}/)));
  expect(shown).toMatchObject({
    id: 'wbusy',
    decision: 'a job waits',
    'start.pull': '2 s',
    'start.ready': '0.25 s',
    'usage.cpu': '12.5 %',
    'usage.memory': '33 %',
    'usage.GPU 0': '87 %',
    'usage.memory of GPU 0': '41 %',
  });
  expect(await cli.json(['workers', 'chat', 'wbusy'])).toMatchObject({
    id: 'wbusy',
    usage: { cpu: { util: 12.5 }, memory: { util: 33 }, gpus: USAGE.gpus },
  });
});

test('a worker that is on its start, or of which nothing is known, is shown without usage', async () => {
  await insertWorker('wwaits', 'PENDING', {});
  const { status, out } = await cli.podyard(['workers', 'chat', 'wwaits']);
  expect([status, out]).toEqual([0, expect.stringMatching(/start\.capacity +in progress/)]);
  expect(out).toMatch(/usage +-/);
});

test('a worker that is not there, and one together with --ended, are refused', async () => {
  expect(await cli.podyard(['workers', 'chat', 'wnone'])).toMatchObject({ status: 4, out: '' });
  expect(await cli.podyard(['workers', 'chat', 'wbusy', '--ended'])).toMatchObject({
    status: 2,
    err: expect.stringContaining('--ended lists all that ended: name no worker'),
  });
});

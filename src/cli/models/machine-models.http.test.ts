import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { ModelHub } from '../../../test/model-hub.ts';
import {
  listModelOrders,
  markFetchFailed,
  writeMachineState,
} from '../../domain/machine-models/machine-model-store.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';

let cli: CliFixture;
let hub: ModelHub;
beforeAll(async () => {
  hub = await ModelHub.start();
  cli = await startCliFixture({ hubUrl: hub.url });
});
afterAll(async () => {
  await cli.close();
  await hub.close();
});

test('an admin lists the stored models and frees one by its name', async () => {
  const { pool } = cli.rest.database;
  await pool.query("update users set role = 'ADMIN' where id = $1", [cli.rest.alice.userId]);
  expect((await cli.podyard(['models', 'stored'])).err).toContain('No models on the machine yet');
  const at = '2026-11-20T10:00:00.000Z';
  const files = [{ path: 'a.bin', size: 2_500_000, digest: `sha256:${'0'.repeat(64)}` as const }];
  const rows = ['org/one', 'org/two'].map(async (name, i) => {
    const model = await pinModel(pool, { source: 'HUB', name, commit: 'c'.repeat(40), files });
    return { model, fetchedAt: at, usedAt: at, isHeld: i === 1 };
  });
  const room = { budgetBytes: 10e9, usedBytes: 2_500_000, stuckBytes: 2_500_000 };
  await writeMachineState(pool, { stored: await Promise.all(rows), fetching: [], room });
  const { out, err } = await cli.podyard(['models', 'stored']);
  expect(err).toBe('Models take 2.5 MB of 10.0 GB; 2.5 MB are pinned or in use.');
  expect(out).toMatch(/org\/one +cccccccccccc +2\.5 MB +stored +no +2026-11-20\S+ +no/);
  expect(out).toMatch(/org\/two +cccccccccccc +2\.5 MB +stored +no +2026-11-20\S+ +yes/);
  expect(await cli.podyard(['models', 'free', 'org/one'])).toMatchObject({
    status: 0,
    err: 'org/one leaves the machine, which frees up to 2.5 MB.',
  });
  expect((await cli.podyard(['models', 'free', 'org/two'])).err).toContain('a worker uses this model');
  expect((await cli.podyard(['models', 'free', 'org/none'])).err).toContain("no model 'org/none' is stored");
});

test('an admin pins a model, and has others fetched and waits for them', async () => {
  const { pool } = cli.rest.database;
  expect((await cli.podyard(['models', 'pin', 'org/two'])).err).toContain('org/two stays on the machine');
  expect((await cli.json(['models', 'stored'])).map(({ pinned }: { pinned: boolean }) => pinned)).toContain(true);
  expect((await cli.podyard(['models', 'unpin', 'org/two'])).err).toContain('org/two leaves when room is needed');
  hub.models.set('org/ahead', { files: { 'a.bin': { size: 3_000_000, lfs: true } } });
  const waits = cli.podyard(['models', 'fetch', 'hf:org/ahead', '--pin']);
  const ordered = () => listModelOrders(pool).then((all) => all.find(({ wantedBy }) => wantedBy !== null));
  await expect.poll(ordered, { timeout: 30_000 }).toMatchObject({ isKept: true });
  const { id } = (await ordered())!;
  const at = '2026-11-20T10:00:00.000Z';
  const room = { budgetBytes: 10e9, usedBytes: 3_000_000, stuckBytes: 0 };
  const stored = [{ model: { id }, fetchedAt: at, usedAt: at, isHeld: false }];
  await writeMachineState(pool, { stored, fetching: [], room });
  expect(await waits).toMatchObject({ status: 0, err: expect.stringContaining('org/ahead is on the machine.') });
  hub.models.set('org/away', { files: { 'a.bin': { size: 5, lfs: true } } });
  const away = await cli.json(['models', 'fetch', 'hf:org/away', '--no-wait']);
  await markFetchFailed(pool, away[0].id, 'the hub refuses it');
  expect((await cli.podyard(['models', 'stored'])).out).toContain('failed: the hub refuses it');
  expect((await cli.podyard(['models', 'free', 'org/away'])).err).toBe('org/away is not fetched any more.');
  expect((await cli.podyard(['models', 'fetch'])).err).toContain('name a model, or with --endpoint an endpoint');
});

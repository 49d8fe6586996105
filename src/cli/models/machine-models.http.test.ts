import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { replaceMachineModels } from '../../domain/machine-models/machine-model-store.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';

let cli: CliFixture;
beforeAll(async () => {
  cli = await startCliFixture();
});
afterAll(() => cli.close());

test('an admin lists the stored models and frees one by its name', async () => {
  const { pool } = cli.rest.database;
  await pool.query("update users set role = 'ADMIN' where id = $1", [cli.rest.alice.userId]);
  expect((await cli.podyard(['models', 'stored'])).err).toContain('No model is stored');
  const at = '2026-11-20T10:00:00.000Z';
  const files = [{ path: 'a.bin', size: 2_500_000, digest: `sha256:${'0'.repeat(64)}` as const }];
  const rows = ['org/one', 'org/two'].map(async (name, i) => {
    const model = await pinModel(pool, { source: 'HUB', name, commit: 'c'.repeat(40), files });
    return { model, fetchedAt: at, usedAt: at, isHeld: i === 1 };
  });
  await replaceMachineModels(pool, await Promise.all(rows));
  const { out } = await cli.podyard(['models', 'stored']);
  expect(out).toMatch(/org\/one +cccccccccccc +2\.5 MB +2026-11-20\S+ +no/);
  expect(out).toMatch(/org\/two +cccccccccccc +2\.5 MB +2026-11-20\S+ +yes/);
  expect(await cli.podyard(['models', 'free', 'org/one'])).toMatchObject({
    status: 0,
    err: 'org/one leaves the machine, which frees up to 2.5 MB.',
  });
  expect((await cli.podyard(['models', 'free', 'org/two'])).err).toContain('a worker uses this model');
  expect((await cli.podyard(['models', 'free', 'org/none'])).err).toContain("no model 'org/none' is stored");
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { ModelHub } from '../../../test/model-hub.ts';
import { silentLogger } from '../../core/logger.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import { createUser } from '../../domain/access/users.ts';
import {
  deleteModelOrder,
  findModelRoom,
  listMachineModels,
  markKept,
  orderModel,
} from '../../domain/machine-models/machine-model-store.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';
import { ModelStore } from '../../models/store/model-store.ts';
import { keepModelsLoop } from './keep-models.ts';

const soon = { timeout: 30_000, interval: 20 };
const root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
const MB = 1_000_000;

let database: TestDatabase;
let hub: ModelHub;
let store: ModelStore;
let loop: ReturnType<typeof keepModelsLoop>;
let userId: Awaited<ReturnType<typeof createUser>>['id'];
const listeners = new Set<() => void>();
const hint = () => {
  for (const listener of listeners) listener();
};
beforeAll(async () => {
  database = await createTestDatabase();
  hub = await ModelHub.start();
  userId = (await createUser(database.pool, { name: 'admin', email: null, role: 'ADMIN' })).id;
  store = new ModelStore({
    ...{ root, hubUrl: hub.url, parallel: 4, bytesPerSecond: null, budgetBytes: 10 * MB, reach: null },
    ...{ isShown: true, retryMs: 1, onFetch: hint },
  });
  const bus = {
    publish: hint,
    subscribe: (_topic: string, listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as Bus;
  const { pool } = database;
  loop = keepModelsLoop({
    ...{ pool, bus, logger: silentLogger, modelStore: store },
    secretBox: createSecretBox(Buffer.alloc(32)),
  });
  loop.start();
});
afterAll(async () => {
  await loop.stop();
  await hub.close();
  await database.drop();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  hub.faults.clear();
  hub.readers = null;
});

async function order(name: string, bytes: number, isKept = false, tokenSecret: string | null = null) {
  const model: PinnedModel = await pinModel(database.pool, hub.add(name, { 'a.bin': bytes }));
  await orderModel(database.pool, model.id, { wantedBy: userId, tokenSecret, isKept });
  hint();
  return model;
}
const find = async ({ id }: PinnedModel) => (await listMachineModels(database.pool, null, id))[0];
const becomes = (model: PinnedModel, shape: object) =>
  vi.waitFor(async () => expect(await find(model)).toMatchObject(shape), soon);

test('a model is fetched before any start, its progress is written down, and it is kept when room is needed', async () => {
  let open = () => {};
  hub.faults.set('a.bin', { halfUntil: new Promise<void>((resolve) => (open = resolve)) });
  const kept = await order('org/kept', 4 * MB, true);
  await becomes(kept, { fetchedAt: null, fetchedBytes: 2 * MB, fetchTotalBytes: 4 * MB });
  open();
  await becomes(kept, { fetchedAt: expect.any(Date), isKept: true });
  await vi.waitFor(
    async () =>
      expect(await findModelRoom(database.pool)).toEqual({
        budgetBytes: 10 * MB,
        usedBytes: 4 * MB,
        stuckBytes: 4 * MB,
      }),
    soon,
  );
  hub.faults.clear();
  const other = await order('org/other', 5 * MB);
  await becomes(other, { fetchedAt: expect.any(Date) });
  const third = await order('org/third', 5 * MB + 1);
  await becomes(third, { fetchedAt: expect.any(Date) });
  expect((await store.list()).map(({ model }) => model.name)).toEqual(['org/kept', 'org/third']);
  await vi.waitFor(async () => expect(await find(other)).toBeUndefined(), soon);
  const fourth = await order('org/fourth', 7 * MB);
  await becomes(fourth, { problem: expect.stringContaining('models that workers use or that are pinned') });
  await markKept(database.pool, kept.id, false);
  hint();
  await vi.waitFor(async () => expect((await store.list()).some(({ isKept }) => isKept)).toBe(false), soon);
  await orderModel(database.pool, fourth.id, { wantedBy: userId, tokenSecret: null, isKept: false });
  hint();
  await becomes(fourth, { fetchedAt: expect.any(Date), problem: null });
});

test('one that is not wanted any more ends its fetch; one that cannot be had says why', async () => {
  hub.faults.set('*', { halfUntil: new Promise(() => {}) });
  const slow = await order('org/slow', 2 * MB);
  await becomes(slow, { fetchedBytes: MB });
  await deleteModelOrder(database.pool, slow.id);
  hint();
  await vi.waitFor(() => expect(store.fetching()).toEqual([]), soon);
  await vi.waitFor(async () => expect(await find(slow)).toBeUndefined(), soon);
  hub.faults.clear();
  hub.readers = new Set(['hf_good']);
  await becomes(await order('org/gated', MB), { problem: expect.stringContaining("refuses the model 'org/gated'") });
  const lacking = await order('org/secret', MB, false, 'gone');
  await becomes(lacking, { problem: expect.stringContaining('gone') });
});

test('a pin outlives the server', async () => {
  const model = await order('org/pinned', MB, true);
  await becomes(model, { fetchedAt: expect.any(Date) });
  await vi.waitFor(async () => expect((await store.list()).some(({ isKept }) => isKept)).toBe(true), soon);
  const again = new ModelStore({
    ...{ root, hubUrl: hub.url, parallel: 4, bytesPerSecond: null, budgetBytes: MB, reach: null, isShown: true },
  });
  await again.tidy(async (ids) => new Set(ids));
  expect((await again.list()).map(({ model: { name } }) => name)).toEqual(['org/pinned']);
});

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ModelHub, useOf } from '../../../test/model-hub.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { HUB_FOLDER } from '../store/model-paths.ts';
import { ModelStore } from '../store/model-store.ts';
import { HubContents } from './hub-contents.ts';

const PATIENCE = { timeout: 20_000 };

/** The hub and the store of a machine fill one disk, of which 10 MB are free and 5 MB stay so. */
const MB = 1_000_000;
const readDisk = async () => ({ totalBytes: 100 * MB, freeBytes: 10 * MB });
const userId = 'anna' as UserId;

let origin: ModelHub;
let root: string;
let store: ModelStore;
let hub: HubContents;
beforeEach(async () => {
  origin = await ModelHub.start();
  root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
  const limits = { budgetBytes: 50 * MB, bytesPerSecond: null, retryMs: 1, readDisk };
  store = new ModelStore({ root, hubUrl: origin.url, parallel: 4, reach: null, isShown: true, ...limits });
  hub = new HubContents({ root: join(root, HUB_FOLDER), storeRoot: root, ...limits });
});
afterEach(async () => {
  await hub.close();
  await origin.close();
  rmSync(root, { recursive: true, force: true });
});

const bring = (model: PinnedModel, workerId: string) => {
  const options = {
    userId,
    workerId: workerId as WorkerId,
    onProgress: () => {},
    signal: new AbortController().signal,
  };
  return store.bring([{ model, use: useOf(model), token: null }], options);
};
const open = (model: PinnedModel) => {
  const [file] = model.files;
  const url = new URL(`${origin.url}/${model.name}/resolve/${model.commit}/${file!.path}`);
  return hub.open(file!, { url, model: model.name, access: null, reach: null }, { from: 0, userId });
};
/** Notes of files that are counted as coming. */
const notes = () => readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.coming'));

test('what the hub fetches is no room for the models of starts', async () => {
  const half = Promise.withResolvers<void>();
  const passing = origin.add('org/passing', { 'a.bin': 3 * MB });
  origin.faults.set('a.bin', { until: half.promise });
  const content = await open(passing);
  const model = origin.add('org/model', { 'b.bin': 3 * MB, 'c.bin': MB });
  await expect(bring(model, 'w1')).rejects.toThrow(
    "the model 'org/model' needs 4.0 MB more on this machine, and 2.0 MB",
  );
  expect(notes()).toHaveLength(1);
  half.resolve();
  await content!.read(Buffer.alloc(1), 3 * MB - 1);
  await content!.close();
  await bring(model, 'w1');
  expect(notes()).toEqual([]);
});

test('what a start fetches is no room for the hub, which passes its own on', async () => {
  const half = Promise.withResolvers<void>();
  const model = origin.add('org/model', { 'a.bin': 3 * MB, 'b.bin': 10 });
  origin.faults.set('a.bin', { until: half.promise });
  const brought = bring(model, 'w1');
  await vi.waitFor(() => expect(origin.sentBytes).toBeGreaterThan(0), PATIENCE);
  const passing = origin.add('org/passing', { 'c.bin': 3 * MB });
  expect(await open(passing)).toBeNull();
  half.resolve();
  await brought;
  const content = await open(passing);
  await content!.read(Buffer.alloc(1), 3 * MB - 1);
  await content!.close();
  expect(notes()).toEqual([]);
});

test('a file that two models share is fetched once, and counts once until it is there', async () => {
  const half = Promise.withResolvers<void>();
  const shared = Buffer.alloc(3 * MB, 'x');
  const [one, two] = ['org/one', 'org/two'].map((name) => origin.add(name, { 'a.bin': shared, 'b.bin': 1_000 }));
  origin.faults.set('a.bin', { until: half.promise });
  const both = [bring(one!, 'w1'), bring(two!, 'w2')];
  await vi.waitFor(() => expect(origin.sentBytes).toBe(2_000), PATIENCE);
  await vi.waitFor(() => expect(notes()).toHaveLength(1), PATIENCE);
  half.resolve();
  await Promise.all(both);
  expect(notes()).toEqual([]);
  expect(origin.sentBytes).toBe(3 * MB + 2_000 + 1); // one byte proves that the other model may be read too
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ModelHub, useOf } from '../../../test/model-hub.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { describe } from './fetch-progress.ts';
import { ModelStore } from './model-store.ts';

const MB = 1_000_000;
const root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
let hub: ModelHub;
let store: ModelStore;
beforeAll(async () => {
  hub = await ModelHub.start();
  const limits = { parallel: 4, bytesPerSecond: null, budgetBytes: 100 * MB };
  store = new ModelStore({ root, hubUrl: hub.url, ...limits, reach: null, isShown: true, retryMs: 1 });
});
afterAll(async () => {
  await hub.close();
  rmSync(root, { recursive: true, force: true });
});

let workers = 0;
function bring(models: PinnedModel[], onProgress: (line: string) => void): Promise<boolean> {
  workers += 1;
  const options = {
    userId: 'anna' as UserId,
    workerId: `w${workers}` as WorkerId,
    signal: new AbortController().signal,
  };
  const wanted = models.map((model) => ({ model, use: useOf(model), token: null }));
  return store.bring(wanted, { ...options, onProgress });
}

test('a worker’s log says what is fetched and how long it took, and nothing of a model that is there', async () => {
  const model = hub.add('org/name', { 'model.safetensors': 3 * MB });
  const lines: string[] = [];
  hub.faults.set('*', { until: vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 20_000 }) });
  await bring([model], (line) => lines.push(line));
  expect(lines).toEqual([
    'fetching the model org/name: 3.0 MB of 3.0 MB',
    expect.stringMatching(/^fetched the model org\/name in \d+\.\d s$/),
  ]);
  hub.faults.clear();
  await bring([model], (line) => lines.push(line));
  expect(lines).toHaveLength(2);
  expect(describe(1.2e9, 14e9, 210e6)).toBe('1.2 GB of 14.0 GB, 210.0 MB/s, 61 s left');
});

test('a fetch that failed is not called fetched', async () => {
  const model = hub.add('org/broken', { 'model.safetensors': 3 * MB });
  const lines: string[] = [];
  const until = vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 20_000 });
  hub.faults.set('*', { until, isChanged: true });
  await expect(bring([model], (line) => lines.push(line))).rejects.toThrow(
    /^the file 'model.safetensors' of the model 'org\/broken' differs from its digest sha256:\w+: 127.0.0.1:\d+ sends something else$/,
  );
  expect(lines).toEqual(['fetching the model org/broken: 3.0 MB of 3.0 MB']);
  hub.faults.clear();
});

test('models whose patterns overlap share the bytes that both have', async () => {
  const all = hub.add('org/both', { 'a.bin': 2 * MB, 'b.bin': MB, 'c.json': 100 });
  const part = { ...all, id: 'b'.repeat(64), files: all.files.filter(({ path }) => path !== 'a.bin') };
  hub.sent.clear();
  await Promise.all([bring([all], () => {}), bring([part], () => {}), bring([part, all], () => {})]);
  expect(hub.sentBytes - 3 * MB - 100).toBeLessThanOrEqual(2); // a byte each proves that the user may have the rest
});

test('a file that another fetch brought while this one was busy with others is not fetched again', async () => {
  const large = { 'a.bin': 2 * MB, 'b.bin': 2 * MB, 'c.bin': 2 * MB, 'd.bin': 2 * MB };
  const all = hub.add('org/behind', { ...large, 'e.bin': 5_000 });
  const last = { ...all, id: 'c'.repeat(64), files: all.files.filter(({ path }) => path === 'e.bin') };
  hub.sent.clear();
  await Promise.all([bring([all], () => {}), bring([last], () => {})]);
  expect(hub.sentBytes - 8 * MB - 5_000).toBeLessThanOrEqual(1); // a byte proves that the user may have it
});

test('an origin that goes on failing is named in the failure', async () => {
  const model = hub.add('org/away', { 'model.safetensors': MB });
  hub.faults.set('*', { status: 503 });
  await expect(bring([model], () => {})).rejects.toThrow(
    /^the file 'model.safetensors' of the model 'org\/away' could not be fetched from 127.0.0.1:\d+: it answered with status 503$/,
  );
  hub.faults.clear();
});

import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { downloadFileToCacheDir, scanCacheDir } from '@huggingface/hub';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type HubFaults, ModelHub, useOf } from '../../../test/model-hub.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { FileFetcher } from '../fetch/file-fetcher.ts';
import { ModelStore, type ModelStoreOptions } from './model-store.ts';

const anna = 'anna' as UserId;
const ben = 'ben' as UserId;
const MB = 1_000_000;
const ROOMY = async () => ({ totalBytes: 1000 * MB, freeBytes: 900 * MB });

/** One thread for all stores. An origin is slow for this one if it sends less than 100 KB in a tenth of a second. */
const fetcher = new FileFetcher({ bytesPerSecond: null, retryMs: 1, slow: { bytes: 100_000, ms: 100 } });
let hub: ModelHub;
let root: string;
let workers = 0;
beforeEach(async () => {
  hub = await ModelHub.start();
  root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
});
afterEach(async () => {
  await hub.close();
  rmSync(root, { recursive: true, force: true });
});

function openStore(options: Partial<ModelStoreOptions> = {}): ModelStore {
  return new ModelStore({
    root,
    hubUrl: hub.url,
    parallel: 4,
    bytesPerSecond: null,
    budgetBytes: null,
    reach: null,
    isShown: true,
    fetcher,
    readDisk: ROOMY,
    ...options,
  });
}

/** Brings models for a new worker. */
async function bring(
  store: ModelStore,
  model: PinnedModel,
  {
    userId = anna,
    token = null as string | null,
    signal = new AbortController().signal,
    revision = null as string | null,
  } = {},
): Promise<WorkerId> {
  workers += 1;
  const workerId = `w${workers}` as WorkerId;
  const use = useOf(model, { revision, tokenSecret: token && 'hub' });
  await store.bring([{ model, use, token }], { userId, workerId, onProgress: () => {}, signal });
  return workerId;
}

async function names(store: ModelStore): Promise<string[]> {
  return (await store.list()).map(({ model }) => model.name);
}

/** Names of files that have begun to come. */
function begun(): string[] {
  const entries = readdirSync(join(root, 'partial'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

function begunBytes(model: PinnedModel): number {
  const paths = readdirSync(join(root, 'partial'), { recursive: true, encoding: 'utf8' });
  const path = paths.find((one) => one.endsWith(nameIn(model)));
  return path === undefined ? 0 : statSync(join(root, 'partial', path)).size;
}

function fault(path: string, faults: HubFaults): void {
  hub.faults.set(path, faults);
}

const SIZES = { 'model.safetensors': 3 * MB, 'config.json': 700, 'onnx/model.onnx': MB };

test('a worker sees the hub’s own layout, with refs that name the commit of its release', async () => {
  const store = openStore();
  const model = hub.add('org/name', SIZES);
  const id = await bring(store, model, { revision: 'v1.0' });
  const { mounts, defaults } = await store.mountsOf(id);
  const folder = join(root, 'workers', id);
  expect(mounts).toEqual([
    { source: join(folder, 'hub'), target: '/runpod-volume/huggingface-cache/hub' },
    {
      source: join(folder, 'models/models--org--name'),
      target: '/runpod-volume/huggingface-cache/hub/models--org--name',
      isReadOnly: true,
    },
    { source: join(folder, 'cache'), target: '/runpod/cache', isReadOnly: true },
  ]);
  expect(defaults).toEqual({
    HF_HUB_CACHE: '/runpod-volume/huggingface-cache/hub',
    PODYARD_MODEL_CACHE: '/runpod/cache',
  });
  const repository = mounts[1]!.source;
  for (const ref of ['main', 'v1.0']) expect(readFileSync(join(repository, 'refs', ref), 'utf8')).toBe(model.commit);
  for (const { path, size, digest } of model.files) {
    const file = join(repository, 'snapshots', model.commit, path);
    expect(statSync(file).size).toBe(size);
    const depth = '../'.repeat(path.split('/').length + 1);
    expect(readlinkSync(file)).toBe(`${depth}blobs/${digest.split(':')[1]}`);
  }
  const snapshot = `/runpod-volume/huggingface-cache/hub/models--org--name/snapshots/${model.commit}`;
  for (const ref of ['main', 'v1.0']) expect(readlinkSync(join(folder, 'cache/org/name', ref))).toBe(snapshot);
  expect(statSync(join(folder, 'hub')).mode & 0o777).toBe(0o777);
  expect(readdirSync(join(folder, 'hub'))).toEqual(['models--org--name']);
});

test('a client of the hub reads it without the hub, where workers are processes', async () => {
  const store = openStore({ isShown: false });
  const model = hub.add('org/name', SIZES);
  const { mounts, defaults } = await store.mountsOf(await bring(store, model));
  expect(mounts).toEqual([]);
  const cacheDir = defaults.HF_HUB_CACHE!;
  const { repos, warnings, size } = await scanCacheDir(cacheDir);
  expect({ warnings, size }).toEqual({ warnings: [], size: 3 * MB + 700 }); // it does not look into folders
  expect(repos).toMatchObject([
    { id: { name: 'org/name', type: 'model' }, revisions: [{ commitOid: model.commit, refs: ['main'] }] },
  ]);
  const path = await downloadFileToCacheDir({
    repo: 'org/name',
    path: 'onnx/model.onnx',
    revision: model.commit,
    cacheDir,
    fetch: () => Promise.reject(new Error('offline')),
  });
  expect(statSync(path).size).toBe(MB);
  expect(statSync(join(defaults.PODYARD_MODEL_CACHE!, 'org/name/main/config.json')).size).toBe(700);
});

test('20 starts at once fetch each byte once, and later ones none', async () => {
  const store = openStore();
  const model = hub.add('org/name', SIZES);
  let open = () => {};
  fault('model.safetensors', { until: new Promise<void>((resolve) => (open = resolve)) });
  const starts = Array.from({ length: 20 }, () => bring(store, model));
  await vi.waitFor(() => expect(hub.asked.length).toBeGreaterThanOrEqual(3));
  open();
  await Promise.all(starts);
  await Promise.all(Array.from({ length: 20 }, () => bring(store, model)));
  await bring(openStore(), model);
  expect(hub.sentBytes).toBe(4 * MB + 700);
});

test('a start that was killed in the middle goes on where it ended', async () => {
  const model = hub.add('org/name', { 'model.safetensors': 4 * MB });
  fault('*', { halfUntil: new Promise(() => {}) });
  const killed = new AbortController();
  const first = bring(openStore(), model, { signal: killed.signal });
  await vi.waitFor(() => expect(begunBytes(model)).toBeGreaterThan(MB), 20_000);
  killed.abort(new Error('killed'));
  await expect(first).rejects.toThrow('killed');
  const kept = begunBytes(model);
  hub.faults.clear();
  hub.sent.clear();
  await bring(openStore(), model);
  expect(hub.sentBytes).toBe(4 * MB - kept);
  expect(begun()).toEqual([]);
});

test('a fetch that was frozen while another took its place does not change what that one stored', async () => {
  const model = hub.add('org/name', { 'model.safetensors': 4 * MB });
  const frozen = Promise.withResolvers<void>();
  fault('*', { halfUntil: frozen.promise });
  const first = bring(openStore(), model);
  await vi.waitFor(() => expect(begunBytes(model)).toBeGreaterThan(MB), 20_000);
  hub.faults.clear();
  const store = openStore();
  await bring(store, model);
  frozen.resolve();
  await first.catch(() => {}); // it fails, or stores the same once more
  const path = join(root, 'blobs', nameIn(model));
  expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(model.files[0]!.digest.slice(7));
  hub.sent.clear();
  await bring(store, model);
  expect(hub.sentBytes).toBe(0);
});

test('connections that end at 99 % are opened again for the rest', async () => {
  const model = hub.add('org/name', { 'model.safetensors': 2 * MB });
  fault('model.safetensors', { cut: { share: 0.99, times: 3 } });
  await bring(openStore(), model);
  expect(hub.sentBytes).toBeLessThanOrEqual(2 * MB + 1);
});

test('one that never sends more is given up with a sentence, and what came stays', async () => {
  const model = hub.add('org/name', { 'model.safetensors': 2 * MB });
  fault('model.safetensors', { cut: { share: 0.5, times: 1, next: { status: 503 } } });
  const store = openStore();
  await expect(bring(store, model)).rejects.toThrow(
    /the file 'model.safetensors' of the model 'org\/name' could not be fetched from .*status 503/,
  );
  expect(begun()).toContain(nameIn(model));
  expect(await store.list()).toEqual([]);
});

test('an origin that is slow without end is given up with a sentence, and what came stays', async () => {
  const model = hub.add('org/name', { 'model.safetensors': 2 * MB });
  fault('model.safetensors', { drip: { bytes: 1_000, everyMs: 5 } });
  const store = openStore();
  await expect(bring(store, model)).rejects.toThrow(
    /the file 'model.safetensors' of the model 'org\/name' could not be fetched from 127.0.0.1:\d+: it sent \d+ bytes in 0 s/,
  );
  expect(begunBytes(model)).toBeGreaterThan(1_000);
  hub.faults.clear();
  await bring(store, model);
  expect(hub.sentBytes).toBeLessThan(3 * MB);
});

test.each([
  [
    'a page',
    { isPage: true },
    /sent a web page of some size for the file 'model.safetensors' of the model 'org\/name'/,
  ],
  ['other bytes', { isChanged: true }, /'model.safetensors' of the model 'org\/name' differs from its digest sha256:/],
  [
    'another digest',
    { isReplaced: true },
    /'model.safetensors' of the model 'org\/name' has changed at .*: set the endpoint's models again/,
  ],
  ['gone', { status: 404 }, /has no file 'model.safetensors' of the model 'org\/name' any more/],
  ['gated', { status: 401 }, /refuses the model 'org\/name' \(status 401\): it is gated, private or gone/],
] as const)('%s instead of the file is refused and never visible', async (_name, faults, message) => {
  const model = hub.add('org/name', { 'model.safetensors': MB });
  fault('model.safetensors', faults);
  const store = openStore();
  await expect(bring(store, model)).rejects.toThrow(message);
  expect(readdirSync(join(root, 'blobs'))).toEqual([]);
  hub.faults.clear();
  await bring(store, model);
});

test('a hub that is away fails the start with a sentence', async () => {
  const model = hub.add('org/name', { 'model.safetensors': MB });
  const store = openStore({ hubUrl: 'http://127.0.0.1:1' });
  await expect(bring(store, model)).rejects.toThrow(
    /'org\/name' could not be fetched from 127.0.0.1:1: .*ECONNREFUSED/,
  );
});

test('a model that was renamed after it was set is fetched under its new name, its token with it', async () => {
  hub.readers = new Set(['hf_good']);
  hub.add('org/new', { 'model.safetensors': Buffer.from('weights') });
  const model = hub.add('org/old', { 'model.safetensors': Buffer.from('weights') });
  Object.assign(hub.models.get('org/new')!, { revisions: { old: model.commit } });
  Object.assign(hub.models.get('org/old')!, { renamedTo: 'org/new' });
  const store = openStore();
  const { mounts } = await store.mountsOf(await bring(store, model, { token: 'hf_good' }));
  expect(mounts[1]!.target).toMatch(/models--org--old$/);
  expect(hub.asked.at(-1)!.path).toBe(`/org/new/resolve/${model.commit}/model.safetensors`);
});

test('the token goes to the hub alone, and a revoked one is said so', async () => {
  hub.readers = new Set(['hf_good']);
  const model = hub.add('org/gated', SIZES);
  const store = openStore();
  await expect(bring(store, model, { token: 'hf_old' })).rejects.toThrow(/status 403\): the token was revoked/);
  await bring(store, model, { token: 'hf_good' });
  expect(hub.leaked).toEqual([]);
  expect(JSON.stringify(await store.list())).not.toContain('hf_good');
  expect(readFileSync(join(root, 'records', `${model.id}.json`), 'utf8')).not.toContain('hf_good');
});

test('a gated model that one user may read is not given to another', async () => {
  hub.readers = new Set(['hf_anna', 'hf_ben']);
  const model = hub.add('org/gated', SIZES);
  const store = openStore();
  await bring(store, model, { token: 'hf_anna' });
  await expect(bring(store, model, { userId: ben })).rejects.toThrow(/refuses the model 'org\/gated'/);
  const copy: PinnedModel = { ...model, id: 'e'.repeat(64), source: 'HTTPS', name: `${hub.url}/nowhere` };
  await expect(bring(store, copy, { userId: ben })).rejects.toThrow(/has no file|refuses the model/);
  const before = hub.sentBytes;
  await bring(store, model, { userId: ben, token: 'hf_ben' });
  expect(hub.sentBytes - before).toBeLessThanOrEqual(1); // a byte proves that he may
  await bring(openStore(), model, { userId: ben });
});

test('a user whose token is refused does not stop another user’s fetch of the same files', async () => {
  hub.readers = new Set(['hf_anna']);
  const model = hub.add('org/gated', { 'model.safetensors': MB });
  const store = openStore();
  const both = await Promise.allSettled([
    bring(store, model, { userId: ben, token: 'hf_ben' }),
    bring(store, model, { token: 'hf_anna' }),
  ]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(hub.sentBytes).toBe(MB);
});

test('models used longest ago leave for a new one, never those that a worker sees', async () => {
  let now = 0;
  const store = openStore({ budgetBytes: 10 * MB, clock: { now: () => (now += 1000) } });
  const [one, two, three, four] = ['one', 'two', 'three', 'four'].map((name) =>
    hub.add(`org/${name}`, { 'a.bin': 3 * MB }),
  );
  const seen = await bring(store, one!);
  for (const model of [two!, three!]) await store.release(await bring(store, model));
  await store.release(await bring(store, two!)); // used again, after three
  await store.release(await bring(store, four!));
  expect(await names(store)).toEqual(['org/one', 'org/two', 'org/four']);
  await store.release(seen);
  await store.release(await bring(store, three!));
  expect(await names(store)).toEqual(['org/two', 'org/four', 'org/three']);
  expect(readdirSync(join(root, 'blobs'))).toHaveLength(3);
});

test('a model that workers’ models leave no room for waits; one larger than the budget is refused before it is fetched', async () => {
  const store = openStore({ budgetBytes: 5 * MB });
  await bring(store, hub.add('org/held', { 'a.bin': 3 * MB }));
  hub.asked.length = 0;
  await expect(bring(store, hub.add('org/second', { 'a.bin': 4 * MB }))).rejects.toThrow(
    "the model 'org/second' needs 4.0 MB more on this machine, and 2.0 MB of it are taken by models that workers use",
  );
  await expect(bring(store, hub.add('org/huge', { 'a.bin': 6 * MB }))).rejects.toThrow(
    "the model 'org/huge' has 6.0 MB, but models may take 5.0 MB on this machine (--models-gb)",
  );
  expect(hub.asked).toEqual([]);
});

test('a part of the disk stays free: models leave when others fill it, and one larger than the rest is refused', async () => {
  let freeBytes = 900 * MB;
  const store = openStore({ readDisk: async () => ({ totalBytes: 1000 * MB, freeBytes }) });
  await store.release(await bring(store, hub.add('org/one', { 'a.bin': MB })));
  freeBytes = 49 * MB;
  await store.tidy(async (ids) => new Set(ids));
  expect(await names(store)).toEqual([]);
  freeBytes = 51 * MB;
  await expect(bring(store, hub.add('org/two', { 'a.bin': 2 * MB }))).rejects.toThrow('its disk has 1.0 MB for models');
});

test('files that somebody deleted, cut or changed are fetched again', async () => {
  const store = openStore();
  const model = hub.add('org/name', SIZES);
  await bring(store, model);
  const [deleted, cut, changed] = model.files.map(({ digest }) => join(root, 'blobs', digest.replace(':', '-')));
  rmSync(deleted!);
  for (const path of [cut!, changed!]) chmodSync(path, 0o600);
  writeFileSync(cut!, '');
  writeFileSync(changed!, Buffer.alloc(statSync(changed!).size));
  hub.sent.clear();
  const id = await bring(store, model);
  expect(hub.sentBytes).toBe(4 * MB + 700);
  const { mounts } = await store.mountsOf(id);
  const text = readFileSync(join(mounts[1]!.source, 'snapshots', model.commit, 'config.json'));
  expect(text.some((byte) => byte !== 0)).toBe(true);
});

test.each(['blobs', ''])(
  'the folder %j that somebody removed is made again, and its files are fetched again',
  async (folder) => {
    const store = openStore();
    const model = hub.add('org/name', SIZES);
    await bring(store, model);
    rmSync(join(root, folder), { recursive: true });
    hub.sent.clear();
    await bring(store, model);
    expect(hub.sentBytes).toBe(4 * MB + 700);
    expect(readdirSync(join(root, 'blobs'))).toHaveLength(3);
  },
);

test('what kills left is removed when room is needed, and half a view holds nothing', async () => {
  const model = hub.add('org/name', { 'a.bin': 3 * MB });
  await bring(openStore(), model);
  rmSync(join(root, 'workers', `w${workers}`, 'view.json'));
  writeFileSync(join(root, 'blobs', `sha256-${'0'.repeat(64)}`), Buffer.alloc(3 * MB));
  writeFileSync(join(root, 'partial', `sha256-${'1'.repeat(64)}`), Buffer.alloc(3 * MB));
  const store = openStore({ budgetBytes: 6 * MB });
  await bring(store, hub.add('org/other', { 'a.bin': 3 * MB }));
  expect(await names(store)).toEqual(['org/name', 'org/other']);
  expect(readdirSync(join(root, 'workers'))).toEqual([`w${workers}`]);
  expect(begun()).toEqual([]);
});

test('one that no worker sees can be removed; workers that ended are forgotten', async () => {
  const store = openStore();
  const model = hub.add('org/name', { 'a.bin': MB });
  const id = await bring(store, model);
  expect(await store.remove(model.id)).toBe(false);
  await store.tidy(async (ids) => new Set(ids.filter((worker) => worker !== id)));
  expect(await store.remove(model.id)).toBe(true);
  expect(readdirSync(join(root, 'blobs'))).toEqual([]);
});

test('a file by URL is in a folder of its own', async () => {
  const store = openStore();
  const model = hub.add('org/name', { 'weights.gguf': MB });
  const url = `${hub.url}/org/name/resolve/${model.commit}/weights.gguf`;
  const id = await bring(store, { ...model, id: 'f'.repeat(64), source: 'HTTPS', name: url });
  const folder = join(root, 'workers', id, 'cache/https', new URL(url).host.replace(':', '_'));
  expect(statSync(join(folder, `org/name/resolve/${model.commit}/weights.gguf`)).size).toBe(MB);
  const { mounts } = await store.mountsOf(id);
  expect(mounts.map(({ target }) => target)).toEqual(['/runpod-volume/huggingface-cache/hub', '/runpod/cache']);
});

test('all downloads together keep to the bandwidth', async () => {
  const store = openStore({ fetcher: new FileFetcher({ bytesPerSecond: 4 * MB, retryMs: 1 }) });
  const begunAt = performance.now();
  await bring(store, hub.add('org/name', { 'a.bin': MB, 'b.bin': MB }));
  expect(performance.now() - begunAt).toBeGreaterThan(450);
});

function nameIn({ files }: PinnedModel): string {
  return files[0]!.digest.replace(':', '-');
}

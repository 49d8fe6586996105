import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ModelHub, useOf } from '../../../test/model-hub.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { BlobFiles, SEALED_AT } from '../store/blob-files.ts';
import { ModelStore } from '../store/model-store.ts';
import { copyModels } from './copy-models.ts';
import { ModelDoor } from './model-door.ts';
import { withNodeLock } from './node-lock.ts';
import type { NodeStoreOptions } from './node-store.ts';

const root = mkdtempSync(join(tmpdir(), 'pn-'));
const store = join(root, 'store');
const { signal } = new AbortController();
const MB = 1_000_000;
let hub: ModelHub;
let models: ModelStore;
let door: ModelDoor;
/** Digests of contents that nodes read. */
const read: string[] = [];
const live = new Set<WorkerId>();
let last = 0;

beforeAll(async () => {
  hub = await ModelHub.start();
  models = new ModelStore({
    ...{ root: store, hubUrl: hub.url, parallel: 4, bytesPerSecond: null, budgetBytes: 1_000 * MB, reach: null },
    ...{ isShown: true, retryMs: 1 },
  });
  const blobs = new BlobFiles(store);
  door = new ModelDoor({
    address: async () => ({ bind: '127.0.0.1', host: '127.0.0.1' }),
    port: 0,
    pathOf: (file) => {
      read.push(file.digest);
      return blobs.pathOf(file);
    },
    listLive: async (ids) => new Set(ids.filter((id) => live.has(id))),
    logger: silentLogger,
  });
  door.start();
});
afterAll(async () => {
  await door.stop();
  await hub.close();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  read.length = 0;
  live.clear();
});

/** Stores the models for a new worker and returns where its node gets them. */
async function offer(...given: PinnedModel[]): Promise<{ id: WorkerId; url: string }> {
  last += 1;
  const id = `worker${last}` as WorkerId;
  live.add(id);
  const wanted = given.map((model) => ({ model, use: useOf(model, { revision: 'v1' }), token: null }));
  await models.bring(wanted, { userId: 'anna' as UserId, workerId: id, onProgress: () => {}, signal });
  return { id, url: await door.offer(id, wanted) };
}
const node = () => mkdtempSync(join(root, 'n'));
function copy(url: string, folder: string, more: Partial<NodeStoreOptions> = {}): Promise<string[]> {
  const lines: string[] = [];
  const options = { url, root: folder, budgetBytes: 1_000 * MB, retryMs: 1, ...more };
  return copyModels(options, { onProgress: (line) => lines.push(line), signal }).then(() => lines);
}
const disk = (totalBytes: number) => async () => ({ totalBytes, freeBytes: totalBytes });

test('a node shows a worker its models in the hub’s layout, with what the release pins', async () => {
  const model = hub.add('org/one', { 'config.json': Buffer.from('{"a":1}'), 'sub/model.safetensors': 3 * MB });
  const { id, url } = await offer(model);
  const folder = node();
  await copy(url, folder);
  const seen = join(folder, 'workers', id);
  const repository = join(seen, 'models/models--org--one');
  expect(readFileSync(join(repository, 'snapshots', model.commit, 'config.json'), 'utf8')).toBe('{"a":1}');
  expect(readFileSync(join(repository, 'snapshots', model.commit, 'sub/model.safetensors'))).toHaveLength(3 * MB);
  expect(readFileSync(join(repository, 'refs/main'), 'utf8')).toBe(model.commit);
  expect(readFileSync(join(repository, 'refs/v1'), 'utf8')).toBe(model.commit);
  expect(readdirSync(join(seen, 'cache/org/one')).sort()).toEqual(['main', 'v1']);
});

test('twenty workers that start at once on a node read each byte once', async () => {
  const model = hub.add('org/many', { 'config.json': Buffer.from('{}'), 'a.bin': 4 * MB, 'b.bin': 4 * MB });
  const offers = await Promise.all(Array.from({ length: 20 }, () => offer(model)));
  const folder = node();
  await Promise.all(offers.map(({ url }) => copy(url, folder)));
  expect(read.sort()).toEqual(model.files.map(({ digest }) => digest as string).sort());
  for (const { id } of offers) {
    expect(readFileSync(join(folder, 'workers', id, 'cache/../models/models--org--many/refs/main'), 'utf8')).toBe(
      model.commit,
    );
  }
  expect(readdirSync(join(folder, 'locks'))).toEqual([]);
});

test('two nodes read each byte of the machine that has it: the hub is not asked again, whether it is there or not', async () => {
  const model = hub.add('org/two', { 'config.json': Buffer.from('[]'), 'a.bin': 4 * MB });
  hub.sent.clear();
  await copy((await offer(model)).url, node());
  hub.faults.set('org/two', { status: 503 });
  const [here, there] = [node(), node()];
  const offers = await Promise.all(Array.from({ length: 6 }, () => offer(model)));
  read.length = 0;
  await Promise.all(offers.map(({ url }, i) => copy(url, i % 2 === 0 ? here : there)));
  const digests = model.files.map(({ digest }) => digest as string);
  expect(read.sort()).toEqual([...digests, ...digests].sort());
  expect(hub.sentBytes).toBe(4 * MB + 2);
  hub.faults.clear();
});

test('the death of a process ends its lock', async () => {
  const path = join(node(), 'lock');
  const file = join(import.meta.dirname, 'node-lock.ts');
  const script = `import { withNodeLock } from ${JSON.stringify(file)};
    await withNodeLock(${JSON.stringify(path)}, new AbortController().signal, async () => {
      console.log('held');
      await new Promise((resolve) => setTimeout(resolve, 2 ** 30));
    });`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  let isTaken = false;
  const taken = withNodeLock(path, signal, async () => {
    isTaken = true;
  });
  await expect(withNodeLock(path, AbortSignal.timeout(50), async () => {})).rejects.toThrow();
  expect(isTaken).toBe(false);
  holder.kill('SIGKILL');
  await taken;
  expect(existsSync(path)).toBe(false);
});

test('a content that was changed by hand at the server does not reach a worker', async () => {
  const model = hub.add('org/changed', { 'a.bin': 1_000 });
  const { id, url } = await offer(model);
  const path = new BlobFiles(store).pathOf(model.files[0]!);
  chmodSync(path, 0o644);
  writeFileSync(path, Buffer.alloc(1_000));
  const folder = node();
  await expect(copy(url, folder)).rejects.toThrow(/'a.bin' of the model 'org\/changed' differs from its digest/);
  expect(existsSync(join(folder, 'workers', id))).toBe(false);
  expect(readdirSync(join(folder, 'blobs'))).toEqual([]);
});

test('contents that no live worker needs leave when room is needed, those used longest ago first', async () => {
  const [old, newer, held] = ['old', 'newer', 'held'].map((name) => hub.add(`org/${name}`, { 'a.bin': 2 * MB }));
  const folder = node();
  const has = (model: PinnedModel) => existsSync(new BlobFiles(folder).pathOf(model.files[0]!));
  for (const model of [old!, newer!, held!]) {
    const { id, url } = await offer(model);
    await copy(url, folder);
    if (model !== held) live.delete(id);
  }
  utimesSync(new BlobFiles(folder).pathOf(old!.files[0]!), new Date(1_000), SEALED_AT);
  const next = hub.add('org/next', { 'a.bin': 2 * MB });
  await copy((await offer(next)).url, folder, { budgetBytes: 6 * MB });
  expect([old!, newer!, held!, next].map(has)).toEqual([false, true, true, true]);
  expect(readdirSync(join(folder, 'workers'))).toHaveLength(2);
  const large = hub.add('org/large', { 'a.bin': 4 * MB });
  await expect(copy((await offer(large)).url, folder, { budgetBytes: 6 * MB })).rejects.toThrow(
    /no room for 'org\/large': 2.0 MB more would be needed/,
  );
  expect([held!, next].map(has)).toEqual([true, true]);
});

test('a disk that is too small is a reason', async () => {
  const model = hub.add('org/wide', { 'a.bin': 2 * MB });
  const { url } = await offer(model);
  await expect(copy(url, node(), { budgetBytes: null, readDisk: disk(2 * MB) })).rejects.toThrow(
    /no room for 'org\/wide'/,
  );
});

test('an address gives one worker’s models alone, and only until its start has ended', async () => {
  const mine = hub.add('org/mine', { 'a.bin': 10 });
  const other = hub.add('org/other', { 'b.bin': 11 });
  const { id, url } = await offer(mine);
  await offer(other);
  const status = async (path: string, method = 'GET') => (await fetch(path, { method })).status;
  expect(await status(`${url}/${mine.files[0]!.digest}`)).toBe(200);
  expect(await status(`${url}/${other.files[0]!.digest}`)).toBe(404);
  expect(await status(`${url}/../../etc/passwd`)).toBe(404);
  expect(await status(`${new URL(url).origin}/${'a'.repeat(43)}/${mine.files[0]!.digest}`)).toBe(404);
  expect(JSON.stringify(await (await fetch(url, { method: 'POST', body: '{"workers":[]}' })).json())).toContain(
    'org/mine',
  );
  door.withdraw(id);
  expect(await status(`${url}/${mine.files[0]!.digest}`)).toBe(404);
  const failure = await copy(url, node()).then(String, String);
  expect(failure).toContain('the models could not be asked for at 127.0.0.1');
  expect(failure).not.toContain(url.split('/').at(-1));
});

test('a read that was cut goes on where it ended', async () => {
  const model = hub.add('org/cut', { 'a.bin': 100 });
  const { url } = await offer(model);
  const headers = { range: 'bytes=40-' };
  const response = await fetch(`${url}/${model.files[0]!.digest}`, { headers });
  expect([response.status, response.headers.get('content-range')]).toEqual([206, 'bytes 40-99/100']);
  expect((await response.bytes()).length).toBe(60);
});

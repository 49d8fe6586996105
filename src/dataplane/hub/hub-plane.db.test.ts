import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { downloadFile, listFiles, modelInfo, pathsInfo, snapshotDownload, whoAmI } from '@huggingface/hub';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { ModelHub } from '../../../test/model-hub.ts';
import { monotonicClock } from '../../core/clock.ts';
import { newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Metrics } from '../../core/metrics.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { type HubAccess, openHubAccess } from '../../domain/access/hub-access.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { PullThroughHub, type PullThroughOptions } from '../../models/hub/pull-through-hub.ts';
import { answerOnWire } from '../wire/wire-response.ts';
import { WireServer } from '../wire/wire-server.ts';
import { HubPlane } from './hub-plane.ts';

/** On a machine with other work. */
const PATIENCE = { timeout: 20_000 };
const NAME = 'acme/tiny';
let database: TestDatabase;
let access: HubAccess;
let origin: ModelHub;
let machine: Machine;
let root: string;

beforeAll(async () => {
  database = await createTestDatabase();
  for (const id of ['anna', 'bert']) await database.pool.query('insert into users (id, name) values ($1, $1)', [id]);
  access = await openHubAccess(database.pool, createSecretBox(randomBytes(32)));
});
afterAll(() => database.drop());
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'podyard-hub-'));
  origin = await ModelHub.start();
  origin.models.set(NAME, { files: { 'config.json': Buffer.from('{"a": 1}'), 'model.bin': randomBytes(3_000_000) } });
  machine = await Machine.start();
});
afterEach(async () => {
  await machine.stop();
  await origin.close();
  rmSync(root, { recursive: true, force: true });
});

/** A machine's hub behind a real listener. */
class Machine {
  readonly metrics = new Metrics({ maxEndpoints: 1 });
  readonly #plane: HubPlane;
  readonly #server: WireServer;
  now = 1_800_000_000_000;

  private constructor(options: Partial<PullThroughOptions>) {
    const clock = { now: () => this.now };
    const { fetchedBytes, evicted } = this.metrics.hub;
    const hub = new PullThroughHub({
      ...{
        root: join(root, 'hub'),
        storeRoot: root,
        hubUrl: origin.url,
        budgetBytes: 100_000_000,
        bytesPerSecond: null,
      },
      ...{ reach: new WebhookPolicy({ allowPrivate: false, allowed: [] }), clock, retryMs: 1 },
      counters: { fetchedBytes: (bytes) => fetchedBytes.add(bytes), evicted: () => evicted.add() },
      ...options,
    });
    const { pool } = database;
    const { metrics } = this;
    this.#plane = new HubPlane({ pool, access, hub, metrics, clock, logger: silentLogger, monotonic: monotonicClock });
    this.#server = new WireServer({
      tls: null,
      dispatch: () => (exchange) =>
        answerOnWire(exchange, exchange.target, '', (req, res) => void this.#plane.handle(req, res)),
      trustedProxies: null,
      limits: { maxHeadBytes: 16_384, idleTimeoutMs: 120_000 },
    });
  }

  static async start(options: Partial<PullThroughOptions> = {}): Promise<Machine> {
    const made = new Machine(options);
    made.#server.server.listen(0, '127.0.0.1');
    await once(made.#server.server, 'listening');
    return made;
  }

  /** Returns HF_ENDPOINT of a worker. */
  urlFor(token: string): string {
    return `http://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}/hub/${token}`;
  }

  async stop(): Promise<void> {
    await this.#plane.close();
    await this.#server.close();
  }
}

async function workerOf(user: string): Promise<{ id: string; url: string }> {
  const id = newId();
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec)
     values ($1, 'e', $2, 1, 'test', 'RUNNING', '{}')`,
    [id, user],
  );
  return { id, url: machine.urlFor(access.tokenOf(id)) };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
/** Compares what would take `expect` seconds. */
const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const digestIn = async (response: Response) => digestOf(await bytesOf(response));
const model = (path: string) => origin.models.get(NAME)!.files[path] as Buffer;

/** Sends a request and returns its response, the body unread. */
async function open(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const sent = request(url, { headers, agent: false });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

test('the hub’s own client reads a model through it, by plain HTTP, and the second time from the disk', async () => {
  const { url } = await workerOf('anna');
  const from = { repo: NAME, hubUrl: url };
  expect((await modelInfo({ name: NAME, hubUrl: url })).name).toBe(NAME);
  const listed = [];
  for await (const entry of listFiles({ ...from, recursive: true })) listed.push(entry);
  expect(listed.map(({ path, xetHash }) => [path, xetHash])).toEqual([
    ['config.json', undefined],
    ['model.bin', undefined],
  ]);
  const [info] = await pathsInfo({ ...from, paths: ['model.bin'] });
  expect(info).toMatchObject({ path: 'model.bin', size: 3_000_000 });
  for (let round = 0; round < 2; round++) {
    const blob = await downloadFile({ ...from, path: 'model.bin' });
    expect(Buffer.from(await blob!.arrayBuffer()).equals(model('model.bin'))).toBe(true);
  }
  expect(await downloadFile({ ...from, path: 'none.bin' })).toBeNull();
  const folder = await snapshotDownload({ ...from, cacheDir: join(root, 'client') });
  expect(readFileSync(join(folder, 'model.bin')).equals(model('model.bin'))).toBe(true);
  expect(origin.sent.get('model.bin')).toBe(3_000_000);
  expect(origin.leaked).toEqual([]);
});

test('a model that was renamed on the hub is found under both names, and fetched once', async () => {
  origin.models.set('acme/old', { files: {}, renamedTo: NAME });
  const { url } = await workerOf('anna');
  for (const name of ['acme/old', NAME])
    expect(await digestIn(await fetch(`${url}/${name}/resolve/main/model.bin`))).toBe(digestOf(model('model.bin')));
  expect(origin.sent.get('model.bin')).toBe(3_000_000);
  const about = (await (await fetch(`${url}/api/models/acme/old`)).json()) as { id: string };
  expect(about.id).toBe(NAME);
});

test('pages of a list lead on within this hub', async () => {
  const files = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`${i}.json`, Buffer.from(`${i}`)]));
  origin.models.set('acme/many', { files });
  origin.pageSize = 2;
  const { url } = await workerOf('anna');
  const paths = [];
  for await (const { path } of listFiles({ repo: 'acme/many', hubUrl: url })) paths.push(path);
  expect(paths).toEqual(Object.keys(files));
  const { headers } = await fetch(`${url}/api/models/acme/many/tree/main`);
  expect(headers.get('link')).toMatch(new RegExp(`^<${url}/api/models/acme/many/tree/main\\?cursor=2>; rel="next"$`));
});

test('HEAD, GET, ranges and conditions are answered as the hub does, with the content where the hub redirects', async () => {
  const { url } = await workerOf('anna');
  const path = `${url}/${NAME}/resolve/main/model.bin`;
  const head = await fetch(path, { method: 'HEAD', redirect: 'manual' });
  const etag = head.headers.get('etag')!;
  expect(head.status).toBe(200);
  expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
  expect(Object.fromEntries(head.headers)).toMatchObject({
    ...{ 'x-repo-commit': origin.commitOf(NAME), 'x-linked-etag': etag, 'x-linked-size': '3000000' },
    ...{ 'content-length': '3000000', 'accept-ranges': 'bytes' },
  });
  expect([...head.headers.keys()].filter((name) => /xet|link$/.test(name))).toEqual([]);
  expect(origin.sent.size).toBe(0);
  const whole = model('model.bin');
  const get = (headers: Record<string, string>) => fetch(path, { headers });
  const part = await get({ range: 'bytes=5-9' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 5-9/3000000']);
  expect(await bytesOf(part)).toEqual(whole.subarray(5, 10));
  expect(await digestIn(await get({}))).toBe(digestOf(whole));
  expect(await bytesOf(await get({ range: 'bytes=-7' }))).toEqual(whole.subarray(-7));
  expect(await bytesOf(await get({ range: 'bytes=2999990-', 'if-range': etag }))).toEqual(whole.subarray(2_999_990));
  expect(await digestIn(await get({ range: 'bytes=5-9', 'if-range': '"other"' }))).toBe(digestOf(whole));
  expect((await get({ range: 'bytes=3000000-' })).status).toBe(416);
  expect((await get({ 'if-none-match': etag })).status).toBe(304);
  expect((await get({ 'if-match': '"other"' })).status).toBe(412);
  const missing = await fetch(`${url}/${NAME}/resolve/main/none`, { method: 'HEAD' });
  expect([missing.status, missing.headers.get('x-error-code'), missing.headers.get('x-repo-commit')]).toEqual([
    ...[404, 'EntryNotFound'],
    origin.commitOf(NAME),
  ]);
  expect(origin.sent.get('model.bin')).toBe(3_000_000);
});

test('twenty clients at the same moment fetch each byte once, and the first has bytes before the last are here', async () => {
  const { url } = await workerOf('anna');
  const half = Promise.withResolvers<void>();
  origin.faults.set('*', { halfUntil: half.promise });
  const responses = await Promise.all(Array.from({ length: 20 }, () => open(`${url}/${NAME}/resolve/main/model.bin`)));
  await Promise.all(responses.map((response) => once(response, 'readable')));
  half.resolve();
  for (const content of await Promise.all(responses.map((response) => buffer(response)))) {
    expect(content.equals(model('model.bin'))).toBe(true);
  }
  expect(origin.sent.get('model.bin')).toBe(3_000_000);
  expect(origin.asked.filter(({ method }) => method === 'HEAD')).toHaveLength(1);
  const { fetchedBytes, servedBytes, misses, hits } = machine.metrics.hub;
  expect([fetchedBytes.value, servedBytes.value, misses.value, hits.value]).toEqual([3_000_000, 60_000_000, 20, 0]);
});

test('a client that leaves does not end the fetch of others', async () => {
  const { url } = await workerOf('anna');
  const half = Promise.withResolvers<void>();
  origin.faults.set('*', { halfUntil: half.promise });
  const first = await open(`${url}/${NAME}/resolve/main/model.bin`);
  const second = await open(`${url}/${NAME}/resolve/main/model.bin`);
  await once(first, 'readable');
  first.destroy();
  await once(first, 'close');
  half.resolve();
  expect((await buffer(second)).equals(model('model.bin'))).toBe(true);
  expect(origin.sent.get('model.bin')).toBe(3_000_000);
});

test('a fetch that the hub cuts, or that ends with the server, goes on where it was', async () => {
  const { url } = await workerOf('anna');
  origin.faults.set('*', { cut: { share: 0.5, times: 1 } });
  expect(await digestIn(await fetch(`${url}/${NAME}/resolve/main/model.bin`))).toBe(digestOf(model('model.bin')));
  expect(origin.sent.get('model.bin')).toBe(3_000_000);

  origin.models.set('acme/left', { files: { 'left.bin': randomBytes(8_000_000) } });
  const half = Promise.withResolvers<void>();
  origin.faults.set('*', { halfUntil: half.promise });
  const response = await open(`${url}/acme/left/resolve/main/left.bin`);
  await once(response, 'readable');
  response.destroy();
  await machine.stop();
  half.resolve();
  origin.faults.clear();
  machine = await Machine.start();
  const again = await workerOf('anna');
  const content = await bytesOf(await fetch(`${again.url}/acme/left/resolve/main/left.bin`));
  expect(content.equals(origin.models.get('acme/left')!.files['left.bin'] as Buffer)).toBe(true);
  expect(origin.ranges.at(-1)).toMatch(/^bytes=[1-9]\d*-$/);
});

test('a stored file that was changed by hand is not served', async () => {
  const { url } = await workerOf('anna');
  await fetch(`${url}/${NAME}/resolve/main/config.json`).then(bytesOf);
  await machine.stop();
  const [name] = readdirSync(join(root, 'hub/blobs'));
  rmSync(join(root, 'hub/blobs', name!));
  writeFileSync(join(root, 'hub/blobs', name!), '{"a": 2}'); // of the same size, changed by hand
  machine = await Machine.start();
  const again = await workerOf('anna');
  expect(await fetch(`${again.url}/${NAME}/resolve/main/config.json`).then((r) => r.text())).toBe('{"a": 1}');
});

test('a file that releases have on this machine is not fetched again', async () => {
  const path = join(root, 'blobs', `sha256-${digestOf(model('model.bin'))}`);
  mkdirSync(dirname(path));
  writeFileSync(path, model('model.bin'));
  utimesSync(path, new Date(), new Date('2000-01-01T00:00:00Z'));
  const { url } = await workerOf('anna');
  const get = () => fetch(`${url}/${NAME}/resolve/main/model.bin`).then(digestIn);
  expect(await get()).toBe(digestOf(model('model.bin')));
  rmSync(path); // it leaves the store of releases
  expect(await get()).toBe(digestOf(model('model.bin')));
  expect(origin.sent.size).toBe(0);
});

test('bytes that differ from the digest reach no client as a whole, and are not kept', async () => {
  const { url } = await workerOf('anna');
  origin.faults.set('*', { isChanged: true });
  const response = await open(`${url}/${NAME}/resolve/main/model.bin`);
  await expect(buffer(response)).rejects.toThrow();
  expect(readdirSync(join(root, 'hub/blobs'))).toEqual([]);
  origin.faults.clear();
  expect(await digestIn(await fetch(`${url}/${NAME}/resolve/main/model.bin`))).toBe(digestOf(model('model.bin')));
});

test('a fetch that begins anew under its readers ends them: none gets bytes of two tries', async () => {
  const { url } = await workerOf('anna');
  const half = Promise.withResolvers<void>();
  const cut = { share: 0.8, times: 1 };
  origin.faults.set('*', { halfUntil: half.promise, cut, isChanged: true, ignoresRanges: true });
  const reading = await open(`${url}/${NAME}/resolve/main/model.bin`);
  await once(reading, 'readable');
  origin.faults.clear(); // from the next try on
  half.resolve();
  await expect(buffer(reading)).rejects.toThrow();
  expect(await digestIn(await fetch(`${url}/${NAME}/resolve/main/model.bin`))).toBe(digestOf(model('model.bin')));
});

test('two processes at once keep to one budget, and neither removes what the other one is fetching', async () => {
  const other = await Machine.start({ budgetBytes: 1_000_000 });
  onTestFinished(() => other.stop());
  await machine.stop();
  machine = await Machine.start({ budgetBytes: 1_000_000 });
  const files = { 'a.bin': randomBytes(600_000), 'b.bin': randomBytes(700_000) };
  origin.models.set('acme/two', { files });
  const half = Promise.withResolvers<void>();
  origin.faults.set('*', { halfUntil: half.promise });
  const { id, url } = await workerOf('anna');
  const one = fetch(`${url}/acme/two/resolve/main/a.bin`).then(digestIn);
  await vi.waitFor(() => expect(origin.ranges).toHaveLength(1), PATIENCE);
  const two = fetch(`${other.urlFor(access.tokenOf(id))}/acme/two/resolve/main/b.bin`).then(digestIn); // passed on
  await vi.waitFor(() => expect(origin.ranges).toHaveLength(2), PATIENCE);
  half.resolve();
  expect(await Promise.all([one, two])).toEqual([digestOf(files['a.bin']), digestOf(files['b.bin'])]);
  expect(readdirSync(join(root, 'hub/blobs'))).toEqual([`sha256-${digestOf(files['a.bin'])}`]);
});

test('a gated model is for those whose own token the hub accepts, at this moment', async () => {
  origin.models.get(NAME)!.tokens = ['hf_anna'];
  const anna = await workerOf('anna');
  const bert = await workerOf('bert');
  const get = (url: string, headers = {}) => fetch(`${url}/${NAME}/resolve/main/model.bin`, { headers });
  expect(await digestIn(await get(anna.url, bearer('hf_anna')))).toBe(digestOf(model('model.bin')));
  for (const [headers, status] of [
    [{}, 401],
    [bearer('hf_bert'), 403],
  ] as const) {
    const refused = await get(bert.url, headers);
    expect([refused.status, refused.headers.get('x-error-code')]).toEqual([status, 'GatedRepo']);
    expect((await refused.text()).includes('restricted')).toBe(true);
    const about = await fetch(`${bert.url}/api/models/${NAME}`, { headers });
    expect(about.status).toBe(status);
  }
  expect((await get(anna.url)).status).toBe(401); // not even her own worker without the token
  origin.models.get(NAME)!.tokens = [];
  machine.now += 16_000;
  expect((await get(anna.url, bearer('hf_anna'))).status).toBe(403);
  expect(origin.leaked).toEqual([]);
  const stored = readdirSync(join(root, 'hub'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name + readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  expect(stored.length).toBeGreaterThan(1);
  expect(stored.join().includes('hf_anna')).toBe(false);
});

test('while the hub is away, what is stored is served, with the time since when it is known, and to its readers alone', async () => {
  origin.models.set('acme/gated', { files: { 'config.json': Buffer.from('{"g": 1}') }, tokens: ['hf_anna'] });
  const anna = await workerOf('anna');
  const bert = await workerOf('bert');
  const path = (url: string, name = NAME, file = 'config.json') => `${url}/${name}/resolve/main/${file}`;
  await fetch(path(anna.url)).then(bytesOf);
  await fetch(path(anna.url, NAME, 'none.json'));
  await fetch(path(anna.url, 'acme/gated'), { headers: bearer('hf_anna') }).then(bytesOf);
  await fetch(`${anna.url}/api/models/${NAME}/revision/main`).then(bytesOf);
  await origin.close();
  machine.now += 3_600_000;

  const served = await fetch(path(bert.url), { headers: bearer('hf_bert') });
  expect(await served.text()).toBe('{"a": 1}');
  expect([served.headers.get('age'), served.headers.get('podyard-hub-away')]).toEqual([
    '3600',
    '2027-01-15T08:00:00.000Z',
  ]);
  const about = (await (await fetch(`${bert.url}/api/models/${NAME}/revision/main`)).json()) as { sha: string };
  expect(await fetch(path(bert.url).replace('main', about.sha)).then((r) => r.text())).toBe('{"a": 1}');
  expect((await fetch(path(bert.url, NAME, 'none.json'))).status).toBe(404);

  const refused = await fetch(path(bert.url, NAME, 'model.bin'));
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('does not answer')]);
  expect((await fetch(path(anna.url, 'acme/gated'), { headers: bearer('hf_anna') })).status).toBe(200);
  expect((await fetch(path(bert.url, 'acme/gated'), { headers: bearer('hf_anna') })).status).toBe(503);
  expect((await fetch(path(anna.url, 'acme/gated'))).status).toBe(503);
  expect((await fetch(`${anna.url}/api/whoami-v2`, { headers: bearer('hf_anna') })).status).toBe(503);
});

test('a file that is larger than the budget passes through without being kept, and makes nothing leave', async () => {
  await machine.stop();
  machine = await Machine.start({ budgetBytes: 1_000_000 });
  const { url } = await workerOf('anna');
  await fetch(`${url}/${NAME}/resolve/main/config.json`).then(bytesOf);
  const response = await fetch(`${url}/${NAME}/resolve/main/model.bin`);
  expect(await digestIn(response)).toBe(digestOf(model('model.bin')));
  const part = await fetch(`${url}/${NAME}/resolve/main/model.bin`, { headers: { range: 'bytes=7-9' } });
  expect([part.status, await bytesOf(part)]).toEqual([206, model('model.bin').subarray(7, 10)]);
  expect(readdirSync(join(root, 'hub/blobs'))).toHaveLength(1);
  expect(machine.metrics.hub.evicted.value).toBe(0);
});

test('files that were used longest ago leave before the budget is full', async () => {
  await machine.stop();
  machine = await Machine.start({ budgetBytes: 1_000_000 });
  const files = Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.bin`, randomBytes(400_000)]));
  origin.models.set('acme/three', { files });
  const { url } = await workerOf('anna');
  for (const name of ['a', 'b', 'a', 'c', 'a']) {
    const content = await fetch(`${url}/acme/three/resolve/main/${name}.bin`).then(bytesOf);
    expect(content.equals(files[`${name}.bin`]!)).toBe(true);
  }
  expect(Object.fromEntries(origin.sent)).toEqual({ 'a.bin': 400_000, 'b.bin': 400_000, 'c.bin': 400_000 });
  await fetch(`${url}/acme/three/resolve/main/b.bin`).then(bytesOf);
  expect(origin.sent.get('b.bin')).toBe(800_000);
});

test('a user who fetches much pushes out their own files, not those of others within their share', async () => {
  await machine.stop();
  machine = await Machine.start({ budgetBytes: 1_000_000 });
  const files = Object.fromEntries([...'abcdef'].map((name) => [`${name}.bin`, randomBytes(200_000)]));
  origin.models.set('acme/many', { files });
  const [anna, bert] = [await workerOf('anna'), await workerOf('bert')];
  const get = (url: string, name: string) => fetch(`${url}/acme/many/resolve/main/${name}.bin`).then(bytesOf);
  await get(anna.url, 'a');
  for (const name of 'bcdef') await get(bert.url, name);
  await get(anna.url, 'a');
  expect(origin.sent.get('a.bin')).toBe(200_000);
  await get(bert.url, 'b');
  expect(origin.sent.get('b.bin')).toBe(400_000);
  await machine.stop();
  machine = await Machine.start({ budgetBytes: 1_000_000 }); // whose file it is outlives the server
  for (const name of 'cd') await get((await workerOf('bert')).url, name);
  await get((await workerOf('anna')).url, 'a');
  expect(origin.sent.get('a.bin')).toBe(200_000);
});

test('all fetches together keep to the bandwidth', async () => {
  await machine.stop();
  machine = await Machine.start({ bytesPerSecond: 2_000_000 });
  const { url } = await workerOf('anna');
  const names = ['a', 'b', 'c', 'd'];
  origin.models.set('acme/four', { files: Object.fromEntries(names.map((n) => [`${n}.bin`, randomBytes(1_000_000)])) });
  const startedAt = performance.now();
  await Promise.all(names.map((name) => fetch(`${url}/acme/four/resolve/main/${name}.bin`).then(bytesOf)));
  expect(performance.now() - startedAt).toBeGreaterThan(1_000); // 4 MB: some may come at once
});

test('a file that is larger than the budget is passed on and not kept, and pushes nothing out', async () => {
  await machine.stop();
  machine = await Machine.start({ budgetBytes: 1_000_000 });
  const files = { 'small.bin': randomBytes(400_000), 'large.bin': randomBytes(1_200_000) };
  origin.models.set('acme/two', { files });
  const { url } = await workerOf('anna');
  const get = (path: keyof typeof files) => fetch(`${url}/acme/two/resolve/main/${path}`).then(digestIn);
  for (const path of ['small.bin', 'large.bin', 'large.bin', 'small.bin'] as const)
    expect(await get(path)).toBe(digestOf(files[path]));
  expect(Object.fromEntries(origin.sent)).toEqual({ 'small.bin': 400_000, 'large.bin': 2_400_000 });
});

test('only so many answers are kept', async () => {
  await machine.stop();
  machine = await Machine.start({ maxAnswers: 3 });
  const { url } = await workerOf('anna');
  for (let i = 0; i < 9; i++) await fetch(`${url}/api/models/${NAME}?any=${i}`).then(bytesOf);
  expect(readdirSync(join(root, 'hub/answers'))).toHaveLength(9);
  expect(await fetch(`${url}/${NAME}/resolve/main/model.bin`).then(digestIn)).toBe(digestOf(model('model.bin')));
  expect(readdirSync(join(root, 'hub/answers'))).toHaveLength(3);
});

test('only workloads that run here are answered', async () => {
  const { id, url } = await workerOf('anna');
  const about = (at: string) => fetch(`${at}/api/models/${NAME}`).then(({ status }) => status);
  expect(await about(url)).toBe(200);
  expect(await about(machine.urlFor('anybody'))).toBe(403);
  expect(await about(machine.urlFor(access.tokenOf(id).replace(id, newId())))).toBe(403);
  expect(await about(machine.urlFor(access.tokenOf(newId())))).toBe(403);
  const other = await workerOf('anna');
  await database.pool.query("update workers set phase = 'EXITED' where id = $1", [other.id]);
  const asked = origin.asked.length;
  expect(await about(other.url)).toBe(403);
  expect(origin.asked).toHaveLength(asked);
});

test('it is no proxy: nothing but models is asked of the hub, and a redirect to this machine’s other services is not followed', async () => {
  const { url } = await workerOf('anna');
  for (const path of ['datasets/o/d/resolve/main/a', 'api/models', 'api/models/o/m/xet-read-token/main', '']) {
    const refused = await fetch(`${url}/${path}`);
    expect([refused.status, await refused.text()]).toEqual([404, expect.stringContaining('models alone')]);
  }
  expect(origin.asked).toEqual([]);
  const inside = await ModelHub.start();
  onTestFinished(() => inside.close());
  origin.cdn = inside.cdn.replace('127.0.0.1', 'localhost');
  const response = await fetch(`${url}/${NAME}/resolve/main/model.bin`);
  expect([response.status, await response.text()]).toEqual([422, expect.stringContaining('localhost is no address')]);
  expect(inside.ranges).toEqual([]);
});

test('who somebody is, the hub says each time', async () => {
  const { url } = await workerOf('anna');
  const answer = await fetch(`${url}/api/whoami-v2`, { headers: bearer('hf_anna') });
  expect(await answer.json()).toMatchObject({ name: 'somebody' });
  await expect(whoAmI({ hubUrl: url, accessToken: 'hf_anna' })).resolves.toMatchObject({ name: 'somebody' });
  expect((await fetch(`${url}/api/whoami-v2`)).status).toBe(401);
});

test('a hub that has enough passes its wait on; one that answers with a page counts as away', async () => {
  const { url } = await workerOf('anna');
  origin.intercept = (_, res) => !!res.writeHead(429).end();
  const about = () => fetch(`${url}/api/models/${NAME}`);
  expect((await about()).status).toBe(429);
  origin.intercept = (_, res) => !!res.writeHead(500).end();
  expect((await about()).status).toBe(503);
  origin.intercept = null;
  expect((await about()).status).toBe(200);
});

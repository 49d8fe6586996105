import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkRepoAccess, HubApiError, listFiles, modelInfo } from '@huggingface/hub';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, type HubModel, ModelHub } from '../../../test/model-hub.ts';
import { Failure } from '../../core/errors.ts';
import { parseModelReference } from '../../domain/models/model-reference.ts';
import { readHubModel } from './hub.ts';

let hub: ModelHub;
beforeAll(async () => {
  hub = await ModelHub.start();
});
afterAll(() => hub.close());

const MODEL: HubModel = {
  files: {
    'config.json': { size: 600 },
    'model-00001-of-00002.safetensors': { size: 5_000_000_000, lfs: true },
    'model-00002-of-00002.safetensors': { size: 3_000_000_000, lfs: true },
    'onnx/model.onnx': { size: 900, lfs: true },
  },
  task: 'text-generation',
};
const TAG = 'a'.repeat(40);
beforeEach(() => {
  hub.models.clear();
  hub.tokens = new Set();
  hub.asked.length = 0;
  hub.pageSize = 1_000;
  hub.intercept = null;
  hub.models.set('org/model', { ...MODEL, revisions: { 'v1.0': TAG, 'refs/pr/1': 'b'.repeat(40) } });
});

const read = (source = 'org/model', token: string | null = null, url = hub.url, timeoutMs = 30_000) => {
  const reference = parseModelReference(source);
  if (reference.source !== 'HUB') throw new Error('not of a hub');
  return readHubModel(url, reference, token, timeoutMs);
};
const refusal = async (...input: Parameters<typeof read>) => {
  const error = await read(...input).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Failure);
  const { kind, message, cause } = error as Failure;
  expect(JSON.stringify([message, String(cause)])).not.toContain('hf_');
  return [kind, message];
};

test('a revision becomes a commit, with the size and the digest of every file', async () => {
  expect(await read()).toEqual({
    source: 'HUB',
    name: 'org/model',
    commit: hub.commitOf('org/model'),
    task: 'text-generation',
    files: [
      { path: 'config.json', size: 600, digest: digestOf('config.json', MODEL.files['config.json']!) },
      ...['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'].map((path, i) => ({
        ...{ path, size: i === 0 ? 5_000_000_000 : 3_000_000_000, digest: digestOf(path, MODEL.files[path]!) },
      })),
      { path: 'onnx/model.onnx', size: 900, digest: digestOf('onnx/model.onnx', MODEL.files['onnx/model.onnx']!) },
    ],
  });
  expect((await read('org/model@v1.0')).commit).toBe(TAG);
  expect((await read('org/model@refs/pr/1')).commit).toBe('b'.repeat(40));
  expect((await read(`hf:org/model@${TAG}`)).commit).toBe(TAG);
});

test('a list of files in many pages is read to its end', async () => {
  hub.pageSize = 2;
  expect((await read()).files.map(({ path }) => path)).toEqual(Object.keys(MODEL.files).toSorted());
  expect(hub.asked.filter(({ path }) => path.includes('/tree/'))).toHaveLength(3);
});

test('the public client of the hub reads the same of the stand-in', async () => {
  hub.pageSize = 2;
  const { name, task, gated } = await modelInfo({ name: 'org/model', hubUrl: hub.url, revision: 'v1.0' });
  expect([name, task, gated]).toEqual(['org/model', 'text-generation', false]);
  const files: object[] = [];
  for await (const { type, path, size, oid, lfs } of listFiles({
    repo: 'org/model',
    recursive: true,
    hubUrl: hub.url,
  })) {
    if (type === 'file') files.push({ path, size, digest: lfs ? `sha256:${lfs.oid}` : `git:${oid}` });
  }
  expect((await read()).files.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual(files);
  hub.tokens = new Set(['hf_good']);
  await checkRepoAccess({ repo: 'org/model', hubUrl: hub.url, accessToken: 'hf_good' });
  const status = (repo: string, accessToken?: string) =>
    checkRepoAccess({ repo, hubUrl: hub.url, ...(accessToken && { accessToken }) }).catch(
      (error) => error instanceof HubApiError && error.statusCode,
    );
  expect(await status('org/other')).toBe(401);
  expect(await status('org/other', 'hf_good')).toBe(404);
  expect(await status('org/model', 'hf_revoked')).toBe(401);
});

describe('a clear refusal', () => {
  const host = () => new URL(hub.url).host;

  test('of a model that is not there, or is private', async () => {
    const text = (name: string) => `${host()} has no model ${name} that may be read`;
    const advice = ': a private one needs a token, in a secret that tokenSecret names';
    expect(await refusal('org/other')).toEqual(['badRequest', text('org/other') + advice]);
    hub.models.set('org/own', { ...MODEL, privateFor: ['hf_good'] });
    hub.tokens = new Set(['hf_good', 'hf_other']);
    expect(await refusal('org/own')).toEqual(['badRequest', text('org/own') + advice]);
    expect(await refusal('org/own', 'hf_other')).toEqual(['badRequest', text('org/own')]);
    expect((await read('org/own', 'hf_good')).files).toHaveLength(4);
  });

  test('of a gated model, without a token and with one that may not read it', async () => {
    hub.models.set('org/gated', { ...MODEL, gatedFor: ['hf_good'] });
    hub.tokens = new Set(['hf_good', 'hf_other']);
    expect(await refusal('org/gated')).toEqual([
      'badRequest',
      `org/gated is gated: accept its terms at ${hub.url}/org/gated, store a token of your account there as a secret, and name that in tokenSecret`,
    ]);
    expect(await refusal('org/gated', 'hf_other')).toEqual([
      'badRequest',
      `org/gated is gated, and the account of the token in tokenSecret may not read it: accept its terms at ${hub.url}/org/gated`,
    ]);
    expect((await read('org/gated', 'hf_good')).files).toHaveLength(4);
  });

  test('of a token that was revoked', async () => {
    expect(await refusal('org/model', 'hf_gone')).toEqual([
      'badRequest',
      `${host()} refuses the token in tokenSecret: put a valid one into the secret`,
    ]);
  });

  test('of a renamed model, with its new name', async () => {
    hub.models.set('old/model', { ...MODEL, renamedTo: 'org/model' });
    expect(await refusal('old/model')).toEqual(['badRequest', 'old/model is called org/model now: write hf:org/model']);
  });

  test('of a revision that is not there', async () => {
    expect(await refusal('org/model@v9')).toEqual(['badRequest', "org/model has no revision 'v9'"]);
  });

  test('of a hub that is away, at its limit, or broken', async () => {
    expect(await refusal('org/model', null, 'http://127.0.0.1:1')).toEqual([
      'unavailable',
      'the hub at 127.0.0.1:1 cannot be reached: try again later',
    ]);
    hub.intercept = (_, res) => !!res.writeHead(502).end();
    expect(await refusal()).toEqual(['unavailable', `the hub at ${host()} answers with status 502: try again later`]);
    hub.intercept = (_, res) => !!res.writeHead(429, { 'retry-after': '7' }).end();
    await expect(read()).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 7 });
    hub.intercept = () => true; // and never answers
    expect((await refusal('org/model', null, hub.url, 100))[1]).toBe(
      `the hub at ${host()} does not answer within 0.1 seconds: try again later`,
    );
    hub.intercept = (req) => !!req.socket.destroy();
    expect((await refusal())[1]).toBe(`the hub at ${host()} cannot be reached: try again later`);
  });

  const json = { 'content-type': 'application/json' };
  const answers: [string, (path: string) => [headers: Record<string, string>, body: string], string][] = [
    ['a page', () => [{ 'content-type': 'text/html' }, '<html>'], 'it sent text/html instead of JSON'],
    ['half an answer', () => [json, '{"id": "org/mo'], 'its JSON is broken'],
    ['no commit', () => [json, '{"id": "org/model"}'], 'it names no commit'],
    [
      'a file outside',
      (path) => [json, path.includes('/tree/') ? '[{"type": "file", "path": "../x"}]' : INFO],
      'it names a file outside the model',
    ],
    [
      'no digest',
      (path) => [json, path.includes('/tree/') ? '[{"type": "file", "path": "x", "size": 1}]' : INFO],
      'it gives no digest of x',
    ],
    ['no list', (path) => [json, path.includes('/tree/') ? '{}' : INFO], 'it sent no list of files'],
  ];
  const INFO = JSON.stringify({ id: 'org/model', sha: TAG });
  test.each(answers)('of %s', async (_, answer, problem) => {
    hub.intercept = (req, res) => {
      const [headers, body] = answer(req.url!);
      return !!res.writeHead(200, headers).end(body);
    };
    expect(await refusal()).toEqual(['unavailable', `${host()} does not answer as a hub: ${problem}`]);
  });
});

test('no other host gets the token: neither a redirect nor a next page is followed to it', async () => {
  const seen: unknown[] = [];
  const other = createServer((req, res) => {
    seen.push(req.headers.authorization);
    res.end('[]');
  });
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  hub.tokens = new Set(['hf_good']);
  const strange = `${new URL(hub.url).host} does not answer as a hub`;
  hub.intercept = (req, res) => !!res.writeHead(307, { location: elsewhere + req.url }).end();
  expect(await refusal('org/model', 'hf_good')).toEqual(['unavailable', `${strange}: it redirects elsewhere`]);
  hub.intercept = (req, res) => {
    if (!req.url!.includes('/tree/')) return false;
    const link = `<${elsewhere}/api/models/org/model/tree/main>; rel="next"`;
    return !!res.writeHead(200, { 'content-type': 'application/json', link }).end('[]');
  };
  expect(await refusal('org/model', 'hf_good')).toEqual(['unavailable', `${strange}: its next page is elsewhere`]);
  await new Promise((done) => other.close(done));
  expect(seen).toEqual([]);
  expect(hub.asked.map(({ token }) => token)).toContain('hf_good');
});

test('a hub may be below a path', async () => {
  hub.pageSize = 2;
  hub.intercept = (req) => {
    req.url = req.url!.replace(/^\/mirror/, '');
    return false;
  };
  const moved = await read('org/model', null, `${hub.url}/mirror`).catch((error) => error.message);
  expect(moved).toMatch(/its next page is elsewhere/); // its links leave out the path
  hub.pageSize = 1_000;
  expect((await read('org/model', null, `${hub.url}/mirror`)).files).toHaveLength(4);
});

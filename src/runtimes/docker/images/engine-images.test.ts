import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startFakeEngine } from '../../../../test/fake-engine.ts';
import { Engine } from '../../../engine/engine.ts';
import { EngineImages } from './engine-images.ts';

/** Stands in for an engine that has no image: it takes those that are imported, and pulls others. */
let fake: Awaited<ReturnType<typeof startFakeEngine>>;
let engine: Engine;
let created: { query: URLSearchParams; bytes: number }[];
beforeEach(async () => {
  created = [];
  fake = await startFakeEngine(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://engine');
    if (pathname.endsWith('/images/create')) created.push({ query: searchParams, bytes: await sizeOf(request) });
    const isMissing = request.method === 'GET' && created.length === 0;
    response.writeHead(isMissing ? 404 : 200, { 'content-type': 'application/json' });
    response.end(isMissing ? '{"message": "no such image"}' : '{"Id": "sha256:0"}');
  });
  engine = new Engine(fake.socketPath);
});
afterEach(async () => {
  await engine.close();
  await fake.close();
});

async function sizeOf(request: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of request) bytes += (chunk as Buffer).length;
  return bytes;
}

test.skipIf(process.platform !== 'linux').each(['podyard/echo-js:dev', 'docker.io/podyard/web-js:v2'])(
  'the example image %s is made of this machine’s files, never pulled from a stranger’s registry',
  async (image) => {
    const lines: string[] = [];
    await new EngineImages(engine, {}).prepare(image, { onProgress: (line) => lines.push(line) });
    expect(created.map(({ query }) => [query.get('fromSrc'), query.get('fromImage')])).toEqual([['-', null]]);
    expect(created[0]!.bytes).toBeGreaterThan(1e6);
    expect(lines).toEqual([expect.stringContaining("was built from this machine's own files")]);
  },
);

test('any other image is pulled, also one whose name begins like an example’s', async () => {
  await new EngineImages(engine, {}).prepare('podyard/echo-js:mine', {});
  expect(created.map(({ query }) => query.get('fromImage'))).toEqual(['podyard/echo-js:mine']);
});

test('the image of a build is never pulled: no registry has it', async () => {
  const images = new EngineImages(engine, {});
  const image = 'builds.podyard.internal/app:b2x7m4q9v1c8za';
  for (const resolve of ['here', 'in registry'] as const) {
    const why = 'The image of build b2x7m4q9v1c8za is not on this machine any more: deploy again.';
    await expect(images.prepare(image, { resolve })).rejects.toThrow(why);
  }
  await expect(images.prepare('Builds.Podyard.internal/app:1', {})).rejects.toThrow('not on this machine any more');
  expect(created).toEqual([]);
});

describe('an image that a build made', () => {
  const NAME = 'builds.podyard.internal/app:b2x7m4q9v1c8za';
  const described = (RepoTags: string[], Labels = {}) =>
    JSON.stringify({ Id: `sha256:${'f3'.repeat(32)}`, RepoTags, Config: { Labels } });
  let body: string;
  let holder: Awaited<ReturnType<typeof startFakeEngine>>;
  let own: Engine;
  beforeEach(async () => {
    holder = await startFakeEngine((request, response) => {
      const isPull = request.method === 'POST';
      response.writeHead(isPull ? 404 : 200, { 'content-type': 'application/json' });
      response.end(isPull ? '{"message": "pull access denied"}' : body);
    });
    own = new Engine(holder.socketPath);
  });
  afterEach(async () => {
    await own.close();
    await holder.close();
  });

  // Engines find an image by the beginning of its id: strangers could try them all.
  test.each([
    ['by its label', described([], { 'podyard.builder': 'here' })],
    ['by its name', described([NAME])],
  ])('is found by that name alone, not by a part of its id (known %s)', async (_, answer) => {
    body = answer;
    const images = new EngineImages(own, {});
    const refusal = "Image 'f3' was not found, or it is private and needs registry credentials.";
    await expect(images.prepare('f3', {})).rejects.toThrow(refusal);
    await expect(images.admit('f3', undefined)).rejects.toThrow(refusal);
    await images.admit(NAME, undefined);
  });

  test('is open to all under another name that the operator gave it', async () => {
    body = described([NAME, 'team/base:1'], { 'podyard.builder': 'here' });
    await new EngineImages(own, {}).prepare('docker.io/team/base:1', {});
    await new EngineImages(own, {}).admit('team/base:1', undefined);
  });
});

describe('what a name stands for', () => {
  const [ID, FIRST, SECOND] = ['0', '1', '2'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string, string];
  const NAME = 'registry.example/me/ml:1';
  let digests: string[];
  let asked: string[];
  let holder: Awaited<ReturnType<typeof startFakeEngine>>;
  let images: EngineImages;
  let own: Engine;
  beforeEach(async () => {
    digests = [];
    asked = [];
    holder = await startFakeEngine(async (request, response) => {
      const path = decodeURIComponent(new URL(request.url!, 'http://engine').pathname.replace(/^\/v[\d.]+/, ''));
      asked.push(`${request.method} ${path}`);
      response.writeHead(200, { 'content-type': 'application/json' });
      const Config = { Env: ['PATH=/bin', 'HF_HOME=/models'] };
      const image = JSON.stringify({ Id: ID, RepoTags: [NAME], RepoDigests: digests, Config });
      response.end(request.method === 'GET' ? image : '');
    });
    own = new Engine(holder.socketPath);
    images = new EngineImages(own, {});
  });
  afterEach(async () => {
    await own.close();
    await holder.close();
  });
  const pulls = () => asked.filter((one) => one.startsWith('POST')).length;

  test('it is the digest of its own repository, else the id', async () => {
    expect(await images.prepare(NAME, { resolve: 'here' })).toEqual({ digest: ID, reference: ID });
    digests = [`registry.example/you/ml@${SECOND}`, `registry.example/me/ml@${FIRST}`];
    const identity = { digest: FIRST, reference: `registry.example/me/ml@${FIRST}` };
    expect(await images.prepare(NAME, { resolve: 'here' })).toEqual(identity);
    digests = [`nginx@${FIRST}`];
    expect(await images.prepare('docker.io/library/nginx', { resolve: 'here' })).toEqual({
      digest: FIRST,
      reference: `docker.io/library/nginx@${FIRST}`,
    });
  });

  test('once it is resolved, a start asks the engine nothing, whatever it starts', async () => {
    digests = [`registry.example/me/ml@${FIRST}`];
    const pinned = await images.prepare(NAME, { resolve: 'here' });
    expect(asked).toHaveLength(1);
    for (const options of [{}, { pinned }]) expect(await images.prepare(NAME, options)).toEqual(pinned);
    expect(await images.variablesOf(ID)).toEqual(new Set(['PATH', 'HF_HOME']));
    expect(asked).toHaveLength(1);
    for (let i = 0; i < 2; i++)
      expect(await images.variablesOf(pinned.reference)).toEqual(new Set(['PATH', 'HF_HOME']));
    expect(asked).toHaveLength(2);
    await images.variablesOf(NAME); // it may stand for another image by now
    expect(asked).toHaveLength(3);
    images.forget(pinned.reference);
    await images.prepare(NAME, { pinned });
    expect(asked.at(-1)).toBe(`GET /images/${pinned.reference}/json`);
  });

  test('of several digests of one image, the one that it had before counts: the name has not moved', async () => {
    digests = [`registry.example/me/ml@${FIRST}`, `registry.example/me/ml@${SECOND}`];
    const pinned = { digest: SECOND, reference: `registry.example/me/ml@${SECOND}` };
    for (const resolve of ['here', 'in registry'] as const) {
      expect(await images.prepare(NAME, { resolve, pinned })).toEqual(pinned);
    }
    expect(await images.prepare(`registry.example/me/ml:1@${SECOND}`, { resolve: 'here' })).toEqual(pinned);
  });

  test('a registry is asked only for its own names, and for short ones that it was asked for before', async () => {
    digests = [`registry.example/me/ml@${FIRST}`];
    await images.prepare(NAME, { resolve: 'in registry' });
    expect(pulls()).toBe(1);
    await images.prepare(`registry.example/me/ml@${FIRST}`, { resolve: 'in registry' });
    for (const image of ['me/ml:1', 'localhost/ml:1', 'podyard/echo-js:dev']) {
      digests = [`${image.slice(0, image.indexOf(':'))}@${FIRST}`];
      await images.prepare(image, { resolve: 'in registry' });
    }
    digests = [];
    await images.prepare('registry.example/built/here:1', { resolve: 'in registry' });
    expect(pulls()).toBe(1);
  });

  test('a name that the operator has given to another image meanwhile is theirs', async () => {
    digests = [`registry.example/me/ml@${SECOND}`];
    const pinned = { digest: FIRST, reference: `registry.example/me/ml@${FIRST}` };
    expect(await images.prepare(NAME, { resolve: 'in registry', pinned })).toMatchObject({ digest: SECOND });
    expect(pulls()).toBe(0);
  });
});

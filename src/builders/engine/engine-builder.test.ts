import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { Recipe } from '../../domain/builds/recipe.ts';
import type { Engine, EngineRequest } from '../../engine/engine.ts';
import { EngineError } from '../../engine/engine.ts';
import { createEngineBuilder } from './engine-builder.ts';

const ID = `sha256:${'a'.repeat(64)}`;
const [OLD, NEW] = ['builds.podyard.internal/one:oldbuild000000', 'builds.podyard.internal/one:newbuild000000'];
const RECIPE: Recipe = {
  ...{ language: 'dockerfile', dockerfile: 'Dockerfile', target: null, base: null, version: null, installer: null },
  ...{ lockFiles: [], systemPackages: [], secretIds: [], buildCommand: null, entry: null },
};

test('an image that goes with the last name of an earlier build of the same content is built again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-engine-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'Dockerfile'), 'FROM scratch\n');
  const removal = Promise.withResolvers<void>();
  const asked: string[] = [];
  let names = [OLD];
  const engine = {
    kind: async () => ({ name: 'Docker', builds: 'buildkit', platform: 'linux/amd64' }),
    hijack: async () => new PassThrough(),
    stream: async ({ archive }: EngineRequest) => {
      (archive as Readable).resume();
      asked.push('build');
      if (asked.includes('removed')) names = [NEW];
      else setImmediate(() => removal.resolve()); // the engine has looked for other names already
      return Readable.from([Buffer.from(`${JSON.stringify({ id: 'moby.image.id', aux: { ID } })}\n`)]);
    },
    list: async (path: string) =>
      path === '/images/json' ? names.map((name) => ({ Id: ID, RepoTags: [name], Size: 1 })) : [],
    json: async ({ method, path }: EngineRequest) => {
      if (path === '/info') return [];
      if (method === 'DELETE') {
        await removal.promise;
        asked.push('removed');
        names = [];
        return [];
      }
      asked.push('looked for');
      if (path === `/images/${OLD}/json` || names.length > 0) return { Id: ID, RepoTags: names, Size: 1 };
      throw new EngineError(404, 'No such image');
    },
  } as unknown as Engine;
  const builder = createEngineBuilder({ engine, installation: 'here' });
  const removed = builder.remove('oldbuild000000');
  const limits = { timeoutMs: 60_000, memoryBytes: 1, cpus: 1, maxImageBytes: 1_000 };
  const request = {
    ...{
      id: 'newbuild000000',
      image: NEW,
      folder,
      recipe: RECIPE,
      args: {},
      secrets: {},
      registries: {},
      usesCache: true,
    },
    ...{ cacheScope: 'user', admitBase: async () => {}, prepareBase: async () => {} },
  };
  const options = { limits, signal: new AbortController().signal, onEvent: () => {} };
  expect(await builder.build(request, options)).toEqual({ image: NEW, digest: ID, sizeBytes: 1 });
  await removed;
  expect(asked).toEqual(['looked for', 'build', 'removed', 'looked for', 'build', 'looked for']);
});

import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasRegistryProgram, PrivateRegistry } from '../../../../test/containers/private-registry.ts';
import { docker, hasEngine } from '../../../../test/engine.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { Runtime } from '../../runtime.ts';
import { createDockerRuntime } from '../docker-runtime.ts';

const isPossible = hasEngine && hasRegistryProgram();

if (!isPossible && process.env.CI === 'true') {
  test('an engine and a registry are available', () =>
    expect.fail('with CI=true these tests need an engine and docker-registry'));
}

const LOCAL = 'podyard-test/moving:dev';

describe.skipIf(!isPossible)('what the name of an image stands for', () => {
  let registry: PrivateRegistry;
  let runtime: Runtime;
  const installation = newId<string>();
  const open = () =>
    createDockerRuntime({
      installation,
      gpus: new Map(),
      logger: silentLogger,
      stateDir: join(registry.folder, 'state'),
    });

  beforeAll(async () => {
    registry = await PrivateRegistry.start();
    runtime = open();
  });
  afterAll(async () => {
    await runtime?.close();
    await registry?.dispose();
    await docker
      .getImage(LOCAL)
      .remove({ force: true })
      .catch(() => {}); // a test may have removed it
  });

  /** Makes an image of one file, as a rebuilt tag is. Returns its id. */
  const build = async (content: string) => {
    const archive = pack();
    archive.entry({ name: 'content' }, content);
    archive.finalize();
    const answer = await docker.importImage(archive as never, { repo: 'podyard-test/moving', tag: 'dev' } as never);
    await (answer as unknown as Readable).toArray();
    return (await docker.getImage(LOCAL).inspect()).Id;
  };
  const push = async (content: string) => {
    await build(content);
    return registry.push(LOCAL, 'moving', 'v1');
  };
  const options = () => ({ auth: registry.auth });

  test('an image that was built here is its id; the tag may move, and the image goes with its last name', async () => {
    const first = await build('first');
    const before = await runtime.prepare(LOCAL, { resolve: 'here' });
    expect(before).toEqual({ digest: first, reference: first });
    const second = await build('second');
    expect(await runtime.prepare(LOCAL, { pinned: before! })).toEqual(before);
    for (const resolve of ['here', 'in registry'] as const) {
      expect(await runtime.prepare(LOCAL, { resolve, pinned: before! })).toEqual({ digest: second, reference: second });
    }
    await docker.getImage(first).remove({ force: true });
    const gone = open().prepare(LOCAL, { pinned: before! });
    await expect(gone).rejects.toThrow(`'${LOCAL}' was ${first} when this release was made`);
  });

  test('of an image from a registry it is the digest there, by which it is pulled again after it was pruned', async () => {
    const image = await push('first');
    const before = (await runtime.prepare(image, { ...options(), resolve: 'here' }))!;
    expect(before.reference).toBe(`${registry.host}/moving@${before.digest}`);
    await push('second');
    await docker.getImage(before.reference).remove({ force: true });
    const lines: string[] = [];
    const later = open();
    expect(
      await later.prepare(image, { ...options(), pinned: before, onProgress: (line) => lines.push(line) }),
    ).toEqual(before);
    expect(lines.at(-1)).toMatch(/^Pulled image .*@sha256:/);
    await later.prepare(image, { ...options(), pinned: before, onProgress: () => expect.fail('it is there') });
    const spec = workloadSpec({ image: before.reference, args: '/no/such/program' });
    await expect(later.start(spec)).rejects.toThrow('could not be started'); // it is present, but has no program
    await later.close();
  });

  test('a tag that moved in the registry is noticed only when the registry is asked', async () => {
    const image = await push('first');
    const before = (await runtime.prepare(image, { ...options(), resolve: 'in registry' }))!;
    expect(await runtime.prepare(image, { ...options(), resolve: 'in registry', pinned: before })).toEqual(before);
    await push('third');
    await docker.getImage(before.reference).tag({ repo: `${registry.host}/moving`, tag: 'v1' }); // the push took it away
    expect(await runtime.prepare(image, { ...options(), resolve: 'here', pinned: before })).toEqual(before);
    const after = (await runtime.prepare(image, { ...options(), resolve: 'in registry', pinned: before }))!;
    expect(after.digest).not.toBe(before.digest);
    expect(await runtime.prepare(image, { ...options(), pinned: before })).toEqual(before);
  });

  test('what is pinned is as private as the name that it was pulled by', async () => {
    const image = await push('first');
    const pinned = (await runtime.prepare(image, { ...options(), resolve: 'in registry' }))!;
    await expect(runtime.prepare(image, { pinned })).rejects.toThrow('it is private and needs registry credentials');
    await expect(open().prepare(image, { pinned })).rejects.toThrow('it is private and needs registry credentials');
  });

  test('a registry that is away is no problem for an image that is there, and a sentence for who asks it', async () => {
    const image = await push('first');
    const pinned = (await runtime.prepare(image, { ...options(), resolve: 'in registry' }))!;
    await registry.pause();
    expect(await runtime.prepare(image, { ...options(), pinned })).toEqual(pinned);
    const asked = runtime.prepare(image, { ...options(), pinned, resolve: 'in registry' });
    await expect(asked).rejects.toThrow(`The registry ${registry.host} gave no usable answer`);
    await registry.resume();
  });
});

import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { builderContract } from '../../../test/builder-contract/contract.ts';
import { DOCKERFILE, ENDLESS, makeBase, writeDockerfile } from '../../../test/builder-contract/dockerfile-projects.ts';
import { readFromImage } from '../../../test/builder-contract/read-from-image.ts';
import { hasRegistryProgram, PrivateRegistry } from '../../../test/containers/private-registry.ts';
import { RegistryDoor } from '../../../test/containers/registry-door.ts';
import { docker, hasEngine } from '../../../test/engine.ts';
import { findProcesses } from '../../../test/find-processes.ts';
import { newId } from '../../core/ids.ts';
import { type BuildRegistry, pulledName } from '../../domain/images/build-registry.ts';
import { Engine } from '../../engine/engine.ts';
import type { BuildEvent, Builder, BuildRequest } from '../builder.ts';
import { createPushingBuilder } from './pushing-builder.ts';

/** Against Debian's docker-registry, which takes a password. */
const isThere = hasEngine && hasRegistryProgram();
if (!isThere && process.env.CI === 'true') {
  test('a container engine and a registry are there', () =>
    expect.fail('with CI=true the tests of pushed builds need an engine and docker-registry'));
}

describe.skipIf(!isThere)('with an engine and a registry', () => {
  const engine = new Engine(undefined);
  const used = new Set<string>();
  let registry: PrivateRegistry | undefined;
  let place: BuildRegistry;
  const installations: string[] = [];
  /** The ids of builds: other files build on this engine, too. */
  const own = new Set<string>();
  afterAll(async () => {
    await registry?.dispose();
    await engine.close();
  });
  const open = (installation: string, more: Partial<BuildRegistry> = {}, by = engine): Builder => {
    installations.push(installation);
    const isUsed = async (image: string) => used.has(image);
    return createPushingBuilder({ engine: by, registry: { ...place, ...more }, installation, isUsed });
  };

  builderContract('pushed', async () => {
    await makeBase(engine);
    registry = await PrivateRegistry.start();
    place = { host: registry.host, repository: 'team/builds', auth: registry.auth };
    return {
      open: async (installation) => open(installation),
      openAway: async (installation) => open(installation, {}, new Engine('/nowhere/engine.sock')),
      write: writeDockerfile,
      read: (image, path) => pullAndRead(image, path),
      use: async (image) => {
        used.add(image);
        return async () => void used.delete(image);
      },
      leftovers: async (id) => [
        ...findProcesses(ENDLESS).map((pid) => `process ${pid}`),
        ...(await namesInEngine(new Set([id]))),
      ],
      caches: true,
    };
  });

  /** Reads a file as a node does: of what the registry has. */
  async function pullAndRead(image: string, path: string): Promise<string> {
    for (const installation of new Set(installations)) {
      const name = pulledName(image, place, installation)!;
      const authconfig = { ...registry!.auth, serveraddress: registry!.host };
      const pull = await docker.pull(name, { authconfig }).catch(() => null);
      if (pull === null) continue;
      await new Promise((resolve, reject) =>
        docker.modem.followProgress(pull, (error) => (error ? reject(error) : resolve(null))),
      );
      return await readFromImage(name, path).finally(() => docker.getImage(name).remove());
    }
    throw new Error(`no registry has ${image}`);
  }

  /** The engine keeps no name of what was pushed: of these builds, and of anything in the registry. */
  async function namesInEngine(builds: ReadonlySet<string> = own): Promise<string[]> {
    const images = await docker.listImages();
    const names = images.flatMap(({ RepoTags }) => RepoTags ?? []);
    const tags = new Set([...builds].map((id) => id.toLowerCase()));
    return names.filter((name) => tags.has(name.split(':').at(-1)!) || name.startsWith(`${place.host}/`));
  }

  const build = async (builder: Builder, folder: string, more: Partial<BuildRequest> = {}) => {
    const id = newId<string>();
    own.add(id);
    const events: BuildEvent[] = [];
    const request = {
      ...{ id, image: `builds.podyard.internal/contract:${id.toLowerCase()}`, folder, recipe: DOCKERFILE },
      ...{ args: {}, secrets: {}, registries: {}, usesCache: true, cacheScope: 'a', admitBase: async () => {} },
      prepareBase: async () => {}, // the builder's own
      ...more,
    };
    const limits = { cpus: 1, memoryBytes: 1e9, timeoutMs: 100_000, maxImageBytes: 2e9 };
    const onEvent = (event: BuildEvent) => void events.push(event);
    const signal = new AbortController().signal;
    const outcome = await builder.build(request, { limits, onEvent, signal }).catch((error: unknown) => ({ error }));
    return { id, events, outcome };
  };
  const folder = async (): Promise<string> => {
    const path = await mkdtemp('/tmp/podyard-pushed-');
    await writeFile(`${path}/note.txt`, 'a note');
    await writeDockerfile('plain', path);
    return path;
  };

  test('two builds of one folder are one image, and the first to go leaves the other', async () => {
    const builder = open(newId<string>(), { repository: 'team/twins' });
    const context = await folder();
    const [one, two] = [await build(builder, context), await build(builder, context)];
    expect(one.outcome).toMatchObject({ digest: (two.outcome as { digest: string }).digest });
    const kinds = one.events.map((event) => (event.kind === 'step' ? `${event.name} ${event.state}` : event.kind));
    const pushed = kinds.slice(kinds.indexOf('pushing'));
    const push = `Push to ${place.host}/team/twins`;
    expect(pushed).toEqual(['pushing', `${push} RUNNING`, `${push} COMPLETED`]);
    await builder.remove(one.id);
    expect((await builder.list()).map(({ buildId }) => buildId)).toEqual([two.id]);
    await builder.remove(two.id);
    expect(await builder.list()).toEqual([]);
    expect(await namesInEngine()).toEqual([]);
  });

  test.each<[string, () => Partial<BuildRegistry>, RegExp]>([
    [
      'refuses the password',
      () => ({ auth: { username: 'puller', password: 'wrong-8462' } }),
      /refuses the credentials/,
    ],
    ['wants one', () => ({ auth: null }), /PODYARD_BUILD_REGISTRY_AUTH/],
    ['is away', () => ({ host: '127.0.0.1:15999' }), /cannot be reached: .*ECONNREFUSED/],
  ])('a registry that %s is named beforehand and in the build, and nothing is left', async (_what, more, why) => {
    const builder = open(newId<string>(), more());
    const hindrance = await builder.hindrance();
    expect(hindrance).toMatch(why);
    expect(hindrance).toMatch(/^The registry of builds, .*\.$/);
    const { outcome } = await build(builder, await folder());
    expect(outcome).toMatchObject({ error: { kind: 'unavailable' } });
    expect(JSON.stringify([hindrance, String((outcome as { error: Error }).error)])).not.toContain('wrong-8462');
    expect(await namesInEngine()).toEqual([]);
  });

  test('a private base is pulled with the credentials of the build alone, and not left to the next', async () => {
    const name = await registry!.push('localhost/podyard/test-base:1', 'team/base', 'v1');
    const builder = open(newId<string>());
    const context = await folder();
    await writeFile(`${context}/Dockerfile`, `FROM ${name}\nWORKDIR /app\nCOPY . .\nRUN echo building\n`);
    const registries = { [registry!.host]: registry!.auth };
    const allowed = await build(builder, context, { registries });
    expect(allowed.outcome).toMatchObject({ image: expect.any(String) });
    expect(allowed.events.some((event) => event.kind === 'step' && event.name === `Pull ${name}`)).toBe(true);
    const refused = await build(builder, context, {});
    expect(refused.outcome).toMatchObject({
      error: {
        kind: 'unprocessable',
        message: expect.stringMatching(/^Dockerfile, line 1: .*needs registry credentials/),
      },
    });
    expect(await namesInEngine()).toEqual([]);
    await builder.remove(allowed.id);
  });

  test('an open base comes from the mirror of its registry; while that is away, from the registry', async () => {
    await registry!.push('localhost/podyard/test-base:1', 'team/base', 'v2');
    const [origin, mirror] = [new RegistryDoor(registry!), new RegistryDoor(registry!)];
    const [host, mirrorHost] = [await origin.open(), await mirror.open()];
    const options = { engine, registry: place, installation: newId<string>(), isUsed: async () => false };
    const builder = createPushingBuilder({ ...options, mirrors: new Map([[host, mirrorHost]]) });
    const context = await folder();
    await writeFile(`${context}/Dockerfile`, `FROM ${host}/team/base:v2\nCOPY note.txt /\n`);
    const linesOf = async () => {
      const { id, events, outcome } = await build(builder, context);
      expect(outcome).toMatchObject({ image: expect.any(String) });
      await builder.remove(id);
      const names = (await docker.listImages()).flatMap(({ RepoTags, RepoDigests }) => [
        ...(RepoTags ?? []),
        ...(RepoDigests ?? []),
      ]);
      expect(names.filter((name) => name.startsWith(host) || name.startsWith(mirrorHost))).toEqual([]);
      return events.flatMap((event) => (event.kind === 'line' ? [event.text] : []));
    };
    try {
      origin.isOpen = false;
      expect(await linesOf()).toContain(`It came from the mirror ${mirrorHost}`);
      [origin.isOpen, mirror.isOpen] = [true, false];
      expect((await linesOf()).join('\n')).toContain(`The mirror of ${host} failed, so ${host} itself is asked: `);
    } finally {
      origin.close();
      mirror.close();
    }
  });

  test('an earlier build is a base, and a place to copy from; one that the registry lost is named', async () => {
    const builder = open(newId<string>(), { repository: 'team/chains' });
    const base = await build(builder, await folder());
    const { image } = base.outcome as { image: string };
    const context = await mkdtemp('/tmp/podyard-pushed-');
    await writeFile(
      `${context}/Dockerfile`,
      `FROM ${image} AS first\nFROM scratch\nCOPY --from=first /app/note.txt /a\n`,
    );
    const begun = await build(builder, context);
    expect(begun.outcome).toMatchObject({ image: expect.any(String) });
    const steps = begun.events.flatMap((event) => (event.kind === 'step' ? [`${event.name} ${event.state}`] : []));
    expect(steps.slice(0, 2)).toEqual([`Pull ${image} RUNNING`, `Pull ${image} COMPLETED`]);
    await writeFile(`${context}/Dockerfile`, `FROM scratch\nCOPY --from=${image} /app/note.txt /b\n`);
    const copied = await build(builder, context);
    expect(copied.outcome).toMatchObject({ image: expect.any(String) });
    expect(await namesInEngine()).toEqual([]);
    for (const { id } of [copied, begun, base]) await builder.remove(id);
    const late = await build(builder, context);
    expect(late.outcome).toMatchObject({
      error: {
        kind: 'unprocessable',
        message: `Dockerfile, line 2: the registry does not have the image '${image}' any more: build it again.`,
      },
    });
    expect(await namesInEngine()).toEqual([]);
  });

  test('tidy removes from the engine what a killed server had not pushed', async () => {
    const installation = newId<string>();
    const builder = open(installation);
    const { createEngineBuilder } = await import('../engine/engine-builder.ts');
    const { outcome } = await build(createEngineBuilder({ engine, installation }), await folder());
    const { image } = outcome as { image: string };
    await docker.getImage(image).tag({ repo: `${place.host}/team/builds`, tag: 'left' });
    expect(await namesInEngine()).toHaveLength(2);
    await builder.tidy();
    expect(await namesInEngine()).toEqual([]);
  });

  test('a process that is killed while it pushes leaves nothing once the next one has begun', async () => {
    const installation = newId<string>();
    const id = newId<string>();
    const moduleAt = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
    const request = {
      ...{
        id,
        image: `builds.podyard.internal/contract:${id.toLowerCase()}`,
        folder: await folder(),
        recipe: DOCKERFILE,
      },
      ...{ args: {}, secrets: {}, registries: {}, usesCache: true, cacheScope: 'a' },
    };
    const limits = { cpus: 1, memoryBytes: 1e9, timeoutMs: 100_000, maxImageBytes: 2e9 };
    const script = `
      const { Engine } = await import(${moduleAt('../../engine/engine.ts')});
      const { createPushingBuilder } = await import(${moduleAt('./pushing-builder.ts')});
      const options = { registry: ${JSON.stringify(place)}, installation: ${JSON.stringify(installation)}, isUsed: async () => false };
      const builder = createPushingBuilder({ engine: new Engine(undefined), ...options });
      const onEvent = ({ kind }) => kind === 'pushing' && setTimeout(() => process.kill(process.pid, 'SIGKILL'), 30);
      const request = { ...${JSON.stringify(request)}, admitBase: async () => {}, prepareBase: async () => {} };
      await builder.build(request, { limits: ${JSON.stringify(limits)}, onEvent, signal: new AbortController().signal });`;
    const killed = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
    const next = open(installation);
    await next.tidy();
    expect(await namesInEngine()).toEqual([]);
    for (const { buildId } of await next.list()) await next.remove(buildId); // it may have arrived: no record has it
    expect(await next.list()).toEqual([]);
  });
});

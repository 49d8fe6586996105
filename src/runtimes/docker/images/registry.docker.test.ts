import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Readable } from 'node:stream';
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

const AUTH = { username: 'puller', password: 'pull-me-4711-please' };

describe.skipIf(!isPossible)('images in a registry with a password', () => {
  let registry: PrivateRegistry;
  let host: string;
  let image: string;
  const installation = newId<string>();
  const open = (accessTtlMs?: number) =>
    createDockerRuntime({
      installation,
      gpus: new Map(),
      logger: silentLogger,
      stateDir: join(registry.folder, 'state'),
      ...(accessTtlMs === undefined ? {} : { accessTtlMs }),
    });
  let runtime: Runtime;

  beforeAll(async () => {
    registry = await PrivateRegistry.start();
    host = registry.host;
    runtime = open();
    await importTinyImage();
    image = await registry.push('podyard-test/tiny:dev', 'private/echo', 'v1');
  });
  afterAll(async () => {
    await runtime?.close();
    await registry?.dispose();
    await docker.getImage('podyard-test/tiny:dev').remove({ force: true });
  });

  test('a failed pull says whether credentials are missing, wrong, or the tag does not exist', async () => {
    await expect(runtime.prepare(image)).rejects.toThrow('it is private and needs registry credentials');
    const wrong = { ...AUTH, password: 'wrong' };
    await expect(runtime.prepare(image, { auth: wrong })).rejects.toThrow(
      `The registry ${host} refused the credentials`,
    );
    const missing = `${host}/private/echo:v9`;
    await expect(runtime.prepare(missing, { auth: AUTH })).rejects.toThrow(
      `'${missing}' does not exist in the registry`,
    );
  });

  test('with credentials it is pulled, and pulled again after it was removed', async () => {
    const lines: string[] = [];
    await runtime.prepare(image, { auth: AUTH, onProgress: (line) => lines.push(line) });
    expect(lines.at(-1)).toMatch(/^Pulled image .* in [\d.]+ s$/);
    await docker.getImage(image).remove();
    const spec = workloadSpec({ image, args: '/no/such/program' });
    await expect(runtime.start(spec)).rejects.toThrow('is not present on this machine');
    await runtime.prepare(image, { auth: AUTH });
    await expect(runtime.start(spec)).rejects.toThrow('could not be started'); // it is present, but has no program
  });

  test('a private image that is already present needs the registry’s permission', async () => {
    const wrong = { ...AUTH, password: 'wrong' };
    const { Id, RepoDigests } = await docker.getImage(image).inspect();
    for (const one of [runtime, open()]) {
      await expect(one.prepare(image)).rejects.toThrow('it is private and needs registry credentials');
      await expect(one.prepare(image, { auth: wrong })).rejects.toThrow('refused the credentials');
      for (const name of [Id, Id.slice(7, 19), RepoDigests[0]!]) await expect(one.prepare(name)).rejects.toThrow();
      await one.prepare(image, { auth: AUTH });
      await one.prepare('podyard-test/tiny:dev'); // the same image, by the operator’s own tag
    }
  });

  test('revoked credentials start nothing new', async () => {
    const doubting = open(0);
    await doubting.prepare(image, { auth: AUTH });
    registry.admit('somebody-else');
    await expect(doubting.prepare(image, { auth: AUTH })).rejects.toThrow('refused the credentials');
    await runtime.prepare(image, { auth: AUTH }); // cached for some minutes
    registry.admit(AUTH.username);
    await doubting.prepare(image, { auth: AUTH });
  });

  test('while the registry is away, those who had access keep it, and others wait', async () => {
    const doubting = open(0);
    await doubting.prepare(image, { auth: AUTH });
    await registry.pause();
    await doubting.prepare(image, { auth: AUTH });
    await expect(doubting.prepare(image)).rejects.toThrow(`The registry ${host} gave no usable answer`);
    await expect(open().prepare(image, { auth: AUTH })).rejects.toThrow(`The registry ${host} gave no usable answer`);
    await registry.resume();
    await open().prepare(image, { auth: AUTH });
  });
});

/** One file and nothing else: quick to push and pull. */
async function importTinyImage(): Promise<void> {
  const archive = Readable.from([execFileSync('tar', ['-c', '-C', import.meta.dirname, 'import-image.ts'])]);
  const answer = await docker.importImage(archive as never, { repo: 'podyard-test/tiny', tag: 'dev' } as never);
  await (answer as unknown as Readable).toArray();
}

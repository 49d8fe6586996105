import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BASE, makeBase } from '../../../../test/builder-contract/dockerfile-projects.ts';
import { hasRegistryProgram, PrivateRegistry } from '../../../../test/containers/private-registry.ts';
import { RegistryDoor } from '../../../../test/containers/registry-door.ts';
import { docker, hasEngine, whileImagesGo } from '../../../../test/engine.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { ImageIdentity } from '../../../domain/images/image-identity.ts';
import { Engine } from '../../../engine/engine.ts';
import type { Runtime } from '../../runtime.ts';
import { createDockerRuntime } from '../docker-runtime.ts';

describe.skipIf(!hasEngine || !hasRegistryProgram())('a registry with a mirror', { timeout: 120_000 }, () => {
  let registry: PrivateRegistry;
  let origin: RegistryDoor;
  let mirror: RegistryDoor;
  let [originHost, mirrorHost, image] = ['', '', ''];
  let runtime: Runtime;

  beforeAll(async () => {
    const engine = new Engine(undefined);
    await makeBase(engine);
    await engine.close();
    registry = await PrivateRegistry.start();
    await registry.push(BASE, 'team/echo', 'v1');
    [origin, mirror] = [new RegistryDoor(registry), new RegistryDoor(registry)];
    originHost = await origin.open();
    mirrorHost = await mirror.open();
    image = `${originHost}/team/echo:v1`;
  });
  beforeEach(async () => {
    await runtime?.close();
    runtime = createDockerRuntime({
      ...{ installation: newId<string>(), gpus: new Map(), logger: silentLogger },
      mirrors: new Map([[originHost, mirrorHost]]),
    });
    await forgetAll();
    for (const door of [origin, mirror]) {
      door.asked.length = 0;
      door.isOpen = true;
    }
  });
  afterAll(async () => {
    await runtime?.close();
    await forgetAll();
    origin?.close();
    mirror?.close();
    await registry?.dispose();
  });

  async function forgetAll(): Promise<void> {
    for (const { RepoTags, RepoDigests, Id } of await whileImagesGo(() => docker.listImages()))
      if (
        [...(RepoTags ?? []), ...(RepoDigests ?? [])].some((name) =>
          [originHost, mirrorHost].some((host) => name.startsWith(`${host}/`)),
        )
      )
        await whileImagesGo(() => docker.getImage(Id).remove({ force: true }));
  }
  async function prepare(name: string, options: object = {}): Promise<{ identity: ImageIdentity; lines: string[] }> {
    const lines: string[] = [];
    const identity = await runtime.prepare(name, {
      resolve: 'here',
      onProgress: (line) => lines.push(line),
      ...options,
    });
    return { identity: identity!, lines };
  }

  test('is not asked: the image has its own name and digest, and starts by them, also when only the digest is pulled', async () => {
    origin.isOpen = false;
    const { identity, lines } = await prepare(image);
    expect(identity.reference).toBe(`${originHost}/team/echo@${identity.digest}`);
    expect(lines).toContain(`It came from the mirror ${mirrorHost}`);
    expect(lines[0]).toBe(`Pulling image ${image}`);
    await docker.getImage(image).inspect();
    const spec = () => workloadSpec({ image: identity.reference, args: '/no/such/program' });
    await expect(runtime.start(spec())).rejects.toThrow('could not be started'); // it is here, but has no program
    await forgetAll();
    await expect(runtime.start(spec())).rejects.toThrow('is not present on this machine');
    expect((await prepare(image, { resolve: undefined, pinned: identity })).identity).toEqual(identity);
    await expect(runtime.start(spec())).rejects.toThrow('could not be started');
    expect(origin.asked).toEqual([]);
    expect(mirror.asked.filter((one) => one.includes('/manifests/sha256:')).length).toBeGreaterThan(0);
  });

  test('is asked while the mirror is away, which is said', async () => {
    const { identity } = await prepare(image);
    await forgetAll();
    mirror.isOpen = false;
    const { identity: same, lines } = await prepare(image, { resolve: 'in registry' });
    expect(same).toEqual(identity);
    expect(lines).toContainEqual(
      expect.stringMatching(
        `^The mirror of ${originHost} failed, so ${originHost} itself is asked: The registry ${mirrorHost} `,
      ),
    );
    expect(origin.asked.length).toBeGreaterThan(0);
  });

  test('is asked for what takes credentials, which the mirror never gets', async () => {
    const auth = registry.auth;
    await prepare(image, { auth });
    expect(mirror.asked).toEqual([]);
  });
});

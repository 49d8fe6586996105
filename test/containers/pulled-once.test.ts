import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { createDockerRuntime } from '../../src/runtimes/docker/docker-runtime.ts';
import type { PrepareOptions, Runtime } from '../../src/runtimes/runtime.ts';
import { docker, hasEngine, whileImagesGo } from '../engine.ts';
import { hasRegistryProgram, PrivateRegistry } from './private-registry.ts';
import { uploadRandomImage } from './random-image.ts';
import { RegistryDoor } from './registry-door.ts';

const LAYERS = 3;

describe.skipIf(!hasEngine || !hasRegistryProgram())('an image that many wait for', { timeout: 120_000 }, () => {
  let registry: PrivateRegistry;
  let door: RegistryDoor;
  let runtime: Runtime;
  let image = '';

  beforeAll(async () => {
    registry = await PrivateRegistry.start();
    await uploadRandomImage(registry, 'team/many', { tag: 'v1', layers: LAYERS, bytes: 2 ** 20 });
    door = new RegistryDoor(registry);
    image = `${await door.open()}/team/many:v1`;
    runtime = createDockerRuntime({ installation: newId<string>(), gpus: new Map(), logger: silentLogger });
  });
  afterAll(async () => {
    await runtime?.close();
    await forget();
    door?.close();
    await registry?.dispose();
  });

  async function forget(): Promise<void> {
    const found = await docker
      .getImage(image)
      .inspect()
      .catch(() => null);
    if (found) await whileImagesGo(() => docker.getImage(found.Id).remove({ force: true }));
  }

  /** Ten at once. Returns what each of them heard. */
  async function wait(optionsOf: (i: number) => PrepareOptions): Promise<string[][]> {
    door.asked.length = 0;
    const waiting = Array.from({ length: 10 }, async (_, i) => {
      const lines: string[] = [];
      await runtime.prepare(image, { onProgress: (line) => lines.push(line), ...optionsOf(i) });
      return lines;
    });
    return Promise.all(waiting);
  }

  /** The layers, and the configuration. */
  function blobsAsked(): string[] {
    return door.asked.filter((one) => /^GET .*\/blobs\/sha256:/.test(one));
  }

  test('is pulled once, each layer too, and all of them hear how the pull goes', async () => {
    const heard = await wait(() => ({ resolve: 'here' }));
    const asked = blobsAsked();
    expect(asked).toHaveLength(LAYERS + 1);
    expect(new Set(asked).size).toBe(asked.length);
    for (const lines of heard) {
      expect(lines[0]).toBe(`Pulling image ${image}`);
      expect(lines.at(-1)).toMatch(`Pulled image ${image} in `);
    }
  });

  test('also while releases that are resolved and ones that are not wait for it', async () => {
    const pinned = (await runtime.prepare(image, { resolve: 'here' }))!;
    await forget();
    await runtime.close();
    runtime = createDockerRuntime({ installation: newId<string>(), gpus: new Map(), logger: silentLogger });
    await wait((i) => (i % 2 === 0 ? { pinned } : { resolve: 'here' }));
    const asked = blobsAsked();
    expect(new Set(asked).size).toBe(LAYERS + 1);
    expect(asked.length).toBeLessThanOrEqual(LAYERS + 2); // Podman reads the configuration again to give it its name
  });
});

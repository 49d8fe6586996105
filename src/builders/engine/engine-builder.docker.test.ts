import { afterAll, describe, expect, test } from 'vitest';
import { builderContract } from '../../../test/builder-contract/contract.ts';
import { ENDLESS, makeBase, writeDockerfile } from '../../../test/builder-contract/dockerfile-projects.ts';
import { readFromImage } from '../../../test/builder-contract/read-from-image.ts';
import { docker, hasEngine } from '../../../test/engine.ts';
import { findProcesses } from '../../../test/find-processes.ts';
import { Engine } from '../../engine/engine.ts';
import { createEngineBuilder } from './engine-builder.ts';

if (!hasEngine && process.env.CI === 'true') {
  test('a container engine answers', () =>
    expect.fail('with CI=true the tests of builds need an engine, but none answers'));
}

describe.skipIf(!hasEngine)('with a container engine', () => {
  const engine = new Engine(undefined);
  afterAll(() => engine.close());

  builderContract('engine', async () => {
    await makeBase(engine);
    return {
      open: async (installation) => createEngineBuilder({ engine, installation }),
      openAway: async (installation) =>
        createEngineBuilder({ engine: new Engine('/nowhere/engine.sock'), installation }),
      write: writeDockerfile,
      read: readFromImage,
      use: async (image) => {
        const container = await docker.createContainer({ Image: image });
        await container.start();
        return async () => {
          await container.remove({ force: true, v: true });
        };
      },
      leftovers: async () => findProcesses(ENDLESS).map((pid) => `process ${pid}`),
      caches: true,
    };
  });
});

import { describe, expect, test } from 'vitest';
import { hasEngine } from '../../../test/engine.ts';
import { silentLogger } from '../../core/logger.ts';
import { runtimeContract } from '../contract.ts';
import { NODE_PROGRAMS } from '../contract-programs.ts';
import { createDockerRuntime } from './docker-runtime.ts';
import { buildImage } from './images/example-images.ts';

if (!hasEngine && process.env.CI === 'true') {
  test('a container engine answers', () =>
    expect.fail('with CI=true the Docker tests need an engine, but none answers'));
}

describe.skipIf(!hasEngine)('with a container engine', () => {
  runtimeContract('docker', async () => {
    const { image, status, note } = await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
    if (status === 'skipped') throw new Error(note);
    return {
      open: async (installation) =>
        createDockerRuntime({ installation, gpus: new Map([['ADA_24', 2]]), logger: silentLogger }),
      image,
      programs: NODE_PROGRAMS,
      gpuPool: 'ADA_24',
      trustsPlacement: true,
      isReal: true,
    };
  });
});

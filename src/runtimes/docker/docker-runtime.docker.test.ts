import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CuttableProxy } from '../../../test/cuttable-proxy.ts';
import { hasEngine } from '../../../test/engine.ts';
import { runtimeContract } from '../../../test/runtime-contract/contract.ts';
import { NODE_PROGRAMS } from '../../../test/runtime-contract/probes.ts';
import { silentLogger } from '../../core/logger.ts';
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
    const open = (installation: string, more: { socketPath?: string } = {}) =>
      createDockerRuntime({ installation, gpus: new Map([['ADA_24', 2]]), logger: silentLogger, ...more });
    const folder = await mkdtemp(join(tmpdir(), 'podyard-engine-'));
    const socketPath = join(folder, 'engine.sock');
    const engine = process.env.DOCKER_HOST?.replace(/^unix:\/\//, '') ?? '/var/run/docker.sock';
    const proxy = new CuttableProxy({ path: socketPath }, () => ({ path: engine }));
    return {
      open: async (installation) => open(installation),
      openCuttable: async (installation) => {
        await proxy.connect();
        const runtime = open(installation, { socketPath });
        return { runtime, cut: () => proxy.cut(), restore: () => proxy.connect() };
      },
      close: async () => {
        await proxy.cut();
        await rm(folder, { recursive: true });
      },
      image,
      programs: NODE_PROGRAMS,
      gpuPool: 'ADA_24',
      trustsPlacement: true,
      isReal: true,
    };
  });
});

import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { docker, hasEngine } from '../../../../test/engine.ts';
import { Engine } from '../../../engine/engine.ts';
import { importImage } from '../images/import-image.ts';
import { EngineGpus } from './engine-gpus.ts';

/** Stands in for NVIDIA's nvidia-smi in a container: answers as it does with one GPU. */
const NVIDIA_SMI = `#!/bin/sh
case "$*" in
  *--query-gpu*) echo 'GPU-00000000-0000-0000-0000-000000000001, NVIDIA L4, 23034, 570.86.15, [N/A], 00000000:01:00.0' ;;
  -L) echo 'GPU 0: NVIDIA L4 (UUID: GPU-00000000-0000-0000-0000-000000000001)' ;;
  *) echo 'CUDA Version                              : 12.8' ;;
esac
`;
const IMAGE = `podyard-test/gpu-probe:${process.pid}`;
/** A root file system of this machine's shell and what it needs. */
async function makeImage(): Promise<void> {
  const programs = ['/bin/sh', '/usr/bin/timeout'];
  const libraries = programs.flatMap((program) => {
    const text = execFileSync('ldd', [program], { encoding: 'utf8' });
    return [...text.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!);
  });
  const files = [...new Set([...programs, ...libraries])].map((path) => ({
    path: path.slice(1),
    source: realpathSync(path),
    mode: 0o755,
  }));
  const entries = [...files, { path: 'usr/bin/nvidia-smi', content: NVIDIA_SMI, mode: 0o755 }];
  await importImage(new Engine(undefined), IMAGE, entries);
}

const left = async () =>
  (await docker.listContainers({ all: true, filters: { label: ['podyard.gpu-probe=test'] } })).length;

describe.skipIf(!hasEngine)('with a container engine', () => {
  afterAll(async () => {
    await docker
      .getImage(IMAGE)
      .remove({ force: true })
      .catch(() => {});
  });

  test('GPUs are read in a container, which the engine removes at its end', async () => {
    await makeImage();
    const source = new EngineGpus({ installation: 'test', shares: 1, image: IMAGE, deviceRequests: [] });
    expect(await source.read()).toMatchObject({
      state: 'read',
      gpus: [{ uuid: 'GPU-00000000-0000-0000-0000-000000000001', gpuTypeId: 'NVIDIA L4', cudaVersion: '12.8' }],
    });
    await expect.poll(left).toBe(0);
  });

  test('an engine without NVIDIA’s toolkit has no GPUs, and keeps no container', async ({ skip }) => {
    const { Runtimes } = (await docker.info()) as { Runtimes?: Record<string, unknown> };
    skip('nvidia' in (Runtimes ?? {}), 'this engine has the toolkit');
    await makeImage();
    expect(await new EngineGpus({ installation: 'test', shares: 1, image: IMAGE }).read()).toEqual({ state: 'absent' });
    await expect.poll(left).toBe(0);
  });
});

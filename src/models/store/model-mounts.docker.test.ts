import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { hasEngine } from '../../../test/engine.ts';
import { ModelHub, useOf } from '../../../test/model-hub.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { createDockerRuntime } from '../../runtimes/docker/docker-runtime.ts';
import { buildImage } from '../../runtimes/docker/images/example-images.ts';
import { ModelStore } from './model-store.ts';

const REPOSITORY = '/runpod-volume/huggingface-cache/hub/models--org--name';

/** Says what a worker sees, and what it can write, first as root and then as another user. */
const PROGRAM = (commit: string) => `
const fs = require('node:fs');
const code = (act) => { try { act(); return 'done'; } catch (error) { return error.code; } };
const snapshot = '${REPOSITORY}/snapshots/${commit}';
const seen = {
  config: fs.readFileSync(snapshot + '/config.json', 'utf8'),
  sdk: fs.readFileSync('/runpod/cache/org/name/main/config.json', 'utf8'),
  ref: fs.readFileSync('${REPOSITORY}/refs/main', 'utf8'),
  volume: fs.readFileSync('/runpod-volume/mine', 'utf8'),
  hub: process.env.HF_HUB_CACHE,
  blob: code(() => fs.appendFileSync(snapshot + '/config.json', 'x')),
  refs: code(() => fs.writeFileSync('${REPOSITORY}/refs/main', 'x')),
  cache: code(() => fs.writeFileSync('/runpod/cache/x', 'x')),
};
process.setgid(1000);
process.setuid(1000);
seen.other = code(() => fs.mkdirSync(process.env.HF_HUB_CACHE + '/models--org--other'));
console.log(JSON.stringify(seen));`;

if (!hasEngine && process.env.CI === 'true') {
  test('a container engine answers', () => expect.fail('with CI=true the Docker tests need an engine'));
}

describe.skipIf(!hasEngine)('with a container engine', () => {
  test('a worker reads its models beside its network volume, and writes only beside them', {
    timeout: 120_000,
  }, async () => {
    const { image, status, note } = await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
    if (status === 'skipped') throw new Error(note);
    const hub = await ModelHub.start();
    const root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
    const volume = mkdtempSync(join(tmpdir(), 'podyard-volume-'));
    chmodSync(volume, 0o777);
    writeFileSync(join(volume, 'mine'), 'kept');
    const runtime = createDockerRuntime({ installation: 'models-test', gpus: new Map(), logger: silentLogger });
    const spec = workloadSpec();
    const id = spec.id as WorkerId;
    try {
      const options = { root, hubUrl: hub.url, parallel: 2, bytesPerSecond: null, budgetBytes: null, reach: null };
      const store = new ModelStore({ ...options, isShown: true });
      const model = hub.add('org/name', { 'config.json': Buffer.from('{"a":1}'), 'model.safetensors': 10_000 });
      const wanted = [{ model, use: useOf(model), token: null }];
      const { signal } = new AbortController();
      await store.bring(wanted, { userId: 'anna' as UserId, workerId: id, onProgress: () => {}, signal });
      const { mounts, defaults } = await store.mountsOf(id);
      await runtime.start({
        ...spec,
        image,
        args: JSON.stringify({ entrypoint: ['node', '-e', PROGRAM(model.commit)], cmd: [] }),
        mounts: [{ source: volume, target: '/runpod-volume' }, ...mounts],
        imageDefaults: defaults,
      });
      const line = await vi.waitFor(async () => {
        expect((await runtime.list()).find((one) => one.id === id)?.state).toBe('exited');
        const [last] = await runtime.lastOutput(id, 1);
        return JSON.parse(last!) as Record<string, string>;
      }, 60_000);
      expect(line).toEqual({
        config: '{"a":1}',
        sdk: '{"a":1}',
        ref: model.commit,
        volume: 'kept',
        hub: '/runpod-volume/huggingface-cache/hub',
        blob: 'EROFS',
        refs: 'EROFS',
        cache: 'EROFS',
        other: 'done',
      });
      expect(readFileSync(join(mounts[1]!.source, 'snapshots', model.commit, 'config.json'), 'utf8')).toBe('{"a":1}');
    } finally {
      await runtime.stop(id, 0);
      await runtime.close();
      await hub.close();
      for (const folder of [root, volume]) rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Containers that the kernel froze without the engine's knowledge. What every freeze must do is in test/runtime-contract/contract.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { docker, hasEngine } from '../../../../test/engine.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { Engine } from '../../../engine/engine.ts';
import type { Runtime } from '../../runtime.ts';
import { createDockerRuntime } from '../docker-runtime.ts';
import { buildImage } from '../images/example-images.ts';
import { findCgroupFreezer } from './cgroups.ts';
import { LABELS } from './container-config.ts';
import { ContainerFreezer } from './container-freezer.ts';
import { Containers } from './containers.ts';

describe.skipIf(!hasEngine)('with a container engine', { timeout: 60_000 }, () => {
  const installation = newId<string>();
  const open = () => createDockerRuntime({ installation, gpus: new Map(), logger: silentLogger });
  let image: string;
  let runtime: Runtime;

  beforeAll(async () => {
    image = (await buildImage({ name: 'podyard/echo-js', tag: 'dev' })).image;
    runtime = open();
  });
  afterAll(async () => {
    for (const { id } of (await runtime?.list()) ?? []) await runtime.stop(id, 0);
    await runtime?.close();
  });

  const sleeper = () => workloadSpec({ image, args: JSON.stringify({ entrypoint: ['sleep'], cmd: ['600'] }) });
  const containerOf = async (id: string) => {
    const [found] = await docker.listContainers({ all: true, filters: { label: [`${LABELS.id}=${id}`] } });
    return docker.getContainer(found!.Id);
  };
  const stateOf = async (id: string) => (await (await containerOf(id)).inspect()).State.Status;
  const seen = async (by: Runtime, id: string) => (await by.list()).find((one) => one.id === id)?.state;

  test('the engine can unpause, stop and remove them, and a new process finds and thaws them', async ({ skip }) => {
    const specs = [sleeper(), sleeper(), sleeper()] as const;
    for (const spec of specs) await runtime.start(spec);
    const [found, thawed, removed] = specs.map(({ id }) => id) as [string, string, string];
    const { Id, State } = await (await containerOf(found)).inspect();
    skip((await findCgroupFreezer(Id, State.Pid)) === null, 'this process may not write the freezer');
    for (const { id } of specs) await runtime.freeze(id);
    expect(await stateOf(found)).toBe('running');
    await expect((await containerOf(found)).unpause()).rejects.toThrow(/not paused/);

    const next = open();
    try {
      await next.thaw(thawed); // without having listed it
      expect(await seen(next, thawed)).toBe('running');
      expect(await seen(next, found)).toBe('frozen');
      expect(await next.stats(found)).toBeNull();
      await next.thaw(found);
      expect(await seen(next, found)).toBe('running');
      await next.freeze(found);
    } finally {
      await next.close();
    }
    await (await containerOf(removed)).remove({ force: true });
    await (await containerOf(found)).stop({ t: 1 });
    expect(await seen(runtime, found)).toBe('exited');
    await expect(runtime.thaw(found)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(runtime.thaw(removed)).rejects.toMatchObject({ kind: 'notFound' });
  });

  test('where the kernel cannot be reached, or a health check would continue, the engine freezes', async () => {
    const engine = new Engine(undefined);
    const elsewhere = new ContainerFreezer(new Containers(engine, installation), '/nonexistent');
    const spec = sleeper();
    await runtime.start(spec);
    await elsewhere.freeze(spec.id);
    expect(await stateOf(spec.id)).toBe('paused');
    expect(await seen(runtime, spec.id)).toBe('frozen');
    await runtime.thaw(spec.id); // by a process that can reach the kernel
    expect(await stateOf(spec.id)).toBe('running');
    await runtime.freeze(spec.id);
    await elsewhere.thaw(spec.id).catch(() => {}); // it cannot, and must not do harm
    await runtime.thaw(spec.id);
    expect(await seen(runtime, spec.id)).toBe('running');
    await engine.close();
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { docker, engineKind, hasEngine } from '../../../../test/engine.ts';
import { NODE_PROGRAMS } from '../../../../test/runtime-contract/probes.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { HOLDER_KIND, LABELS } from '../containers/container-config.ts';
import { createDockerRuntime, type EngineRuntime } from '../docker-runtime.ts';
import { buildImage } from '../images/example-images.ts';
import { HOLDER_PROGRAM } from '../images/holder-image.ts';

describe.skipIf(!hasEngine)('with a container engine', { timeout: 60_000 }, () => {
  const installation = newId<string>();
  const open = () => createDockerRuntime({ installation, gpus: new Map(), logger: silentLogger, preparedNetworks: 1 });
  let image: string;
  let runtime: EngineRuntime;

  beforeAll(async () => {
    image = (await buildImage({ name: 'podyard/echo-js', tag: 'dev' })).image;
    runtime = open();
  });
  afterAll(async () => {
    for (const { id } of (await runtime?.list()) ?? []) await runtime.stop(id, 0);
    await runtime?.close();
  });

  const spec = (more = {}) => workloadSpec({ image, args: NODE_PROGRAMS.serve, env: { LISTEN: '8000' }, ...more });
  const containersOf = (label: string) =>
    docker.listContainers({ all: true, filters: { label: [`${LABELS.installation}=${installation}`, label] } });
  /** Without those that are being removed. */
  const holders = async () =>
    (await containersOf(`${LABELS.kind}=${HOLDER_KIND}`)).filter(({ State }) => State === 'running');
  const holderOf = async (id: string) => (await containersOf(`${LABELS.id}=${id}`))[0]!.Labels[LABELS.holder];
  const ready = async (count: number) => {
    await expect.poll(async () => (await holders()).length).toBe(count);
  };
  /** Starts workers until one finds a network: one whose holder runs may not be ready for half a second more. */
  const startInOne = async (more = {}) => {
    for (;;) {
      const worker = spec(more);
      const { address } = await runtime.start(worker);
      if ((await holderOf(worker.id)) !== undefined) return { id: worker.id, address };
      await runtime.stop(worker.id, 0);
      await ready(1);
    }
  };

  test('a worker starts in one, is reached there, and leaves none behind; one that is gone is no obstacle', async () => {
    const first = spec();
    await runtime.start(first); // without: none is prepared before there was a start
    expect(await holderOf(first.id)).toBeUndefined();
    await ready(1);
    expect((await runtime.list()).map(({ id }) => id)).toEqual([first.id]);

    const second = await startInOne();
    const { address } = second;
    expect(address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    const seen = (await runtime.list()).find(({ id }) => id === second.id);
    expect(seen).toMatchObject({ state: 'running', address });
    const restarted = open();
    expect(await restarted.reach(second.id, 8000)).toEqual({ host: address, port: 8000 });
    await expect
      .poll(() =>
        fetch(`http://${address}:8000/`).then(
          (answer) => answer.text(),
          () => null,
        ),
      )
      .toBe('hello');
    await restarted.close();

    await ready(2); // the next one, and the second's
    const own = await holderOf(second.id);
    const idle = (await holders()).find(({ Labels }) => Labels[LABELS.id] !== own)!;
    await docker.getContainer(idle.Id).remove({ force: true });
    const third = spec();
    await runtime.start(third); // its network is gone: it gets one of its own
    expect(await holderOf(third.id)).toBeUndefined();
    const pod = spec({ kind: 'pod' });
    await ready(2);
    await runtime.start(pod);
    expect(await holderOf(pod.id)).toBeUndefined();
    for (const { id } of [first, second, third, pod]) await runtime.stop(id, 0);
    await ready(1);
  });

  test('a worker with a health check starts in one, and is frozen by the engine', async ({ skip }) => {
    skip(!engineKind!.keepsBridges, 'this engine cannot make an image with a health check of a container');
    await ready(1);
    const [holder] = await holders();
    const checked = `checked-${installation.toLowerCase()}`;
    const changes = `HEALTHCHECK --interval=1s --timeout=1s CMD ["${HOLDER_PROGRAM}"]`;
    await docker.getContainer(holder!.Id).commit({ repo: checked, changes });
    const args = JSON.stringify({ entrypoint: [HOLDER_PROGRAM], cmd: [] });
    const worker = await startInOne({ image: checked, args });
    const { Id } = (await containersOf(`${LABELS.id}=${worker.id}`))[0]!;
    await runtime.freeze(worker.id);
    expect((await docker.getContainer(Id).inspect()).State.Status).toBe('paused');
    expect((await runtime.list()).find(({ id }) => id === worker.id)?.state).toBe('frozen');
    await runtime.thaw(worker.id);
    expect((await docker.getContainer(Id).inspect()).State.Status).toBe('running');
    await ready(2);
    await runtime.stop(worker.id, 0);
    await ready(1);
    await docker.getImage(checked).remove();
  });

  test('what a killed process left is removed by the next leader, and an idle one at the end', async () => {
    await ready(1);
    const used = await startInOne();
    await ready(2);
    const next = open();
    await next.tidy!(); // as after the kill of the process that prepared it
    await ready(1);
    expect((await holders())[0]!.Labels[LABELS.id]).toBe(await holderOf(used.id));
    await next.stop(used.id, 0);
    await next.close();
    await ready(0);
    await runtime.start(spec()); // the one that was removed was still its own
    await ready(1);
    for (const { id } of await runtime.list()) await runtime.stop(id, 0);
    await runtime.close();
    expect(await containersOf(LABELS.id)).toEqual([]);

    const expecting = open();
    expecting.expectStarts!();
    await ready(1); // before there was a start
    await expecting.close();
    expect(await containersOf(LABELS.id)).toEqual([]);
  });
});

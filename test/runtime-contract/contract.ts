import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { type LogLine, NoCapacity, type Runtime, type WorkloadSpec } from '../../src/runtimes/runtime.ts';
import { workloadSpec } from '../workload-spec.ts';
import { execContract } from './exec.ts';
import { logsContract } from './logs.ts';
import { placesContract } from './places.ts';
import { lineOf, observe, type Program, type RuntimeUnderTest, type Suite, TIMEOUT_MS, until } from './probes.ts';

/** Tests the guarantees of runtime.ts. Each runtime calls this in its own test file. */
export function runtimeContract(name: string, makeRuntime: () => Promise<RuntimeUnderTest>): void {
  describe(`${name}: the contract of a runtime`, { timeout: 120_000 }, () => {
    let under: RuntimeUnderTest;
    let runtime: Runtime;
    const installation = newId<string>();
    const opened: Runtime[] = [];

    const open = async (of: string) => {
      const one = await under.open(of);
      opened.push(one);
      return one;
    };
    const spec = (program: Program, more: Partial<WorkloadSpec> = {}): WorkloadSpec =>
      workloadSpec({ image: under.image, args: under.programs[program], ...more });
    const started = async (program: Program, more: Partial<WorkloadSpec> = {}) => {
      const wanted = spec(program, more);
      await runtime.start(wanted);
      return wanted.id;
    };
    const ready = async (program: 'idle' | 'stubborn') => {
      const id = await started(program);
      await lineOf(runtime, id, (line) => line === 'ready');
      return id;
    };

    beforeAll(async () => {
      process.env.PODYARD_TEST_LEAK = 'the server’s own';
      under = await makeRuntime();
      runtime = await open(installation);
      await runtime.prepare(under.image);
    }, 120_000);
    afterEach(async () => {
      await Promise.all((await runtime.list()).map(({ id }) => runtime.stop(id, 0)));
    }, 120_000);
    afterAll(async () => {
      delete process.env.PODYARD_TEST_LEAK;
      for (const one of opened) await one.close();
      await under?.close?.();
    }, 120_000);

    test('a start is idempotent by id', async () => {
      const wanted = spec('idle');
      await runtime.start(wanted);
      const before = await observe(runtime, wanted.id);
      await Promise.all([runtime.start(wanted), runtime.start(wanted)]);
      expect(await runtime.list()).toHaveLength(1);
      const after = await observe(runtime, wanted.id);
      expect(after).toMatchObject({ kind: 'worker', state: 'running', exitCode: null, reason: null, finishedAt: null });
      expect(after.startedAt).toEqual(before.startedAt);
      expect(after.address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    });

    test('a workload gets the environment of its spec, and not the server’s', async () => {
      const id = await started('env', { env: { GREETING: 'hello "you" $HOME\nand you' } });
      await lineOf(runtime, id, (line) => line === 'GREETING=hello "you" $HOME');
      await lineOf(runtime, id, (line) => line === 'LEAK=none');
    });

    test('a workload that ended stays listed with its exit code, and watch reports it', async () => {
      const reported = new Set<string>();
      const unwatch = runtime.watch((id) => reported.add(id));
      const id = await started('exit7', { kind: 'pod' });
      const ended = await until(runtime, id, (seen) => seen?.state === 'exited');
      expect(ended).toMatchObject({ kind: 'pod', exitCode: 7, address: null });
      expect(ended!.finishedAt!.getTime()).toBeGreaterThanOrEqual(ended!.startedAt!.getTime());
      expect(reported).toContain(id);
      unwatch();
    });

    test('watch survives an engine that was away, and reports its return once; elsewhere it reports none', async () => {
      const cuttable = await under.openCuttable?.(installation);
      const watching = cuttable?.runtime ?? runtime;
      if (cuttable) opened.push(watching);
      const reported = new Set<string>();
      let returns = 0;
      const unwatch = watching.watch(
        (id) => reported.add(id),
        () => {
          returns += 1;
        },
      );
      const id = await ready('idle');
      await until(watching, id, (seen) => seen?.state === 'running');
      if (cuttable) {
        await cuttable.cut();
        await expect.poll(() => watching.start(spec('idle')).catch(({ kind }) => kind)).toBe('unavailable');
        expect(returns).toBe(0);
        await cuttable.restore();
        await expect.poll(() => returns).toBe(1);
        await expect.poll(() => watching.list()).toMatchObject([{ id, state: 'running' }]);
      }
      await runtime.stop(id, 0);
      await expect.poll(() => reported).toContain(id);
      expect(returns).toBe(cuttable ? 1 : 0);
      unwatch();
    });

    test('a start replaces a workload that has ended', async () => {
      const wanted = spec('exit7');
      await runtime.start(wanted);
      await until(runtime, wanted.id, (seen) => seen?.state === 'exited');
      await runtime.start({ ...wanted, args: under.programs.idle });
      expect(await observe(runtime, wanted.id)).toMatchObject({ state: 'running', exitCode: null });
    });

    test('a freeze stops all execution, and a thaw resumes it', async ({ skip }) => {
      skip(runtime.capabilities.freeze === 'parked', 'parked workloads keep running');
      const id = await started('tick');
      await lineOf(runtime, id, (line) => line === 'tick 3');
      await runtime.freeze(id);
      await runtime.freeze(id);
      expect(await observe(runtime, id)).toMatchObject({ state: 'frozen' });
      const frozenMs = 400;
      await sleep(frozenMs); // nothing may happen during this time
      await runtime.thaw(id);
      await runtime.thaw(id);
      expect(await observe(runtime, id)).toMatchObject({ state: 'running' });

      const lines: LogLine[] = [];
      await lineOf(runtime, id, (line, ts) => {
        lines.push({ line, ts });
        return lines.length >= 30;
      });
      expect(lines.map(({ line }) => line)).toEqual(lines.map((_, i) => `tick ${i + 1}`));
      const gaps = lines.slice(1).map(({ ts }, i) => ts.getTime() - lines[i]!.ts.getTime());
      expect(Math.max(...gaps)).toBeGreaterThan(frozenMs * 0.9);
    });

    test('a parked workload is listed as frozen and keeps running', async ({ skip }) => {
      skip(runtime.capabilities.freeze !== 'parked', 'a freeze stops workloads');
      const id = await started('tick');
      await lineOf(runtime, id, (line) => line === 'tick 3');
      for (const state of ['frozen', 'running'] as const) {
        const turn = () => (state === 'frozen' ? runtime.freeze(id) : runtime.thaw(id));
        await turn();
        await turn();
        const seen = await observe(runtime, id);
        expect(seen).toMatchObject({ state, exitCode: null, finishedAt: null });
        expect(seen.address).not.toBeNull();
        const since = new Date();
        await lineOf(runtime, id, (line, ts) => line.startsWith('tick ') && ts > since, { since });
      }
    });

    test('the memory of a workload is reported, also while it is frozen', async () => {
      const id = await ready('idle');
      expect(await runtime.memoryBytes(id)).toBeGreaterThanOrEqual(under.leastMemoryBytes ?? 0);
      await runtime.freeze(id);
      expect(await runtime.memoryBytes(id)).toBeGreaterThanOrEqual(under.leastMemoryBytes ?? 0);
      await expect(runtime.memoryBytes('nosuchworkload')).rejects.toMatchObject({ kind: 'notFound' });
    });

    test('a freeze or thaw of an unknown or ended workload is refused', async () => {
      await expect(runtime.freeze('nosuchworkload')).rejects.toMatchObject({ kind: 'notFound' });
      const id = await started('exit7');
      await until(runtime, id, (seen) => seen?.state === 'exited');
      await expect(runtime.freeze(id)).rejects.toMatchObject({ kind: 'conflict' });
      await expect(runtime.thaw(id)).rejects.toMatchObject({ kind: 'conflict' });
    });

    test('a stop waits for the workload to end by itself, and no longer', async () => {
      const id = await ready('idle');
      const begin = performance.now();
      await runtime.stop(id, 60_000);
      expect(performance.now() - begin).toBeLessThan(TIMEOUT_MS);
      expect(await runtime.list()).toEqual([]);
    });

    test('a stop kills a workload that does not end within the grace period', async () => {
      const id = await ready('stubborn');
      const begin = performance.now();
      await Promise.all([runtime.stop(id, 1000), runtime.stop(id, 1000)]);
      expect(performance.now() - begin).toBeGreaterThan(900);
      expect(await runtime.list()).toEqual([]);
      await runtime.stop(id, 1000);
      await runtime.stop('nosuchworkload', 1000);
    });

    test('a frozen workload can be stopped', async () => {
      const id = await ready('idle');
      await runtime.freeze(id);
      const begin = performance.now();
      await runtime.stop(id, 60_000);
      expect(performance.now() - begin).toBeLessThan(TIMEOUT_MS);
      expect(await runtime.list()).toEqual([]);
    });

    test('an unknown image is refused by name', async () => {
      const image = 'podyard.invalid/no-such-image:v1';
      if (!under.pullsAtStart) await expect(runtime.prepare(image)).rejects.toThrow(image);
      await expect(runtime.start(spec('idle', { image }))).rejects.toThrow(image);
      expect(await runtime.list()).toEqual([]);
    });

    test('an image is prepared and started by what its name stood for, also after a restart', async () => {
      const byName = await runtime.prepare(under.image, { resolve: 'here' });
      const found = byName ?? (await runtime.start(spec('idle'))).image;
      if (under.pullsAtStart && !found) return; // it is on that node only, and in no registry
      const identity = found!;
      expect(identity.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      const later = await open(installation);
      expect(await later.prepare(under.image, { pinned: identity })).toEqual(identity);
      expect(await runtime.prepare(under.image, { pinned: identity, resolve: 'here' })).toEqual(byName);
      const id = await started('idle', { image: identity.reference });
      if (under.isReal) await lineOf(runtime, id, (line) => line === 'ready');
      expect(await observe(runtime, id)).toMatchObject({ state: 'running' });
    });

    test('what an image stood for and is nowhere any more is refused by its digest', async (context) => {
      context.skip(!under.isReal || under.pullsAtStart === true, 'only a start looks for it');
      const digest = `sha256:${'0'.repeat(64)}`;
      const refused = runtime.prepare(under.image, { pinned: { digest, reference: digest } });
      await expect(refused).rejects.toThrow(`'${under.image}' was ${digest}`);
    });

    test('a start that fails leaves nothing behind', async () => {
      const wanted = spec('missing');
      await expect(runtime.start(wanted)).rejects.toThrow('/no/such/program');
      expect(await runtime.list()).toEqual([]);
      await runtime.start({ ...wanted, args: under.programs.idle });
      expect(await observe(runtime, wanted.id)).toMatchObject({ state: 'running' });
    });

    test('workloads survive a restart, and other installations never see them', async () => {
      const id = await started('tick');
      await lineOf(runtime, id, (line) => line === 'tick 1');
      const former = await under.open(installation);
      expect((await former.list()).map((seen) => seen.id)).toEqual([id]);
      await former.close();
      const stranger = await open(`${installation}x`);
      const second = await open(installation);
      expect(await stranger.list()).toEqual([]);
      await stranger.stop(id, 0);
      expect((await second.list()).map((seen) => seen.id)).toEqual([id]);
      await lineOf(second, id, (line) => line === 'tick 5');
      await second.freeze(id);
      if (under.seesOthersLate) await until(runtime, id, (seen) => seen?.state === 'frozen');
      expect(await observe(runtime, id)).toMatchObject({ state: 'frozen' });
      await second.stop(id, 0);
      if (under.seesOthersLate) await until(runtime, id, (seen) => seen === undefined);
      expect(await runtime.list()).toEqual([]);
    });

    test('many starts at once all succeed', async () => {
      const ids = await Promise.all(Array.from({ length: 20 }, () => started('idle')));
      const seen = await runtime.list();
      expect(seen.map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(seen.every(({ state }) => state === 'running')).toBe(true);
    });

    test('a GPU is taken while a workload holds it, and free afterwards', async () => {
      const free = async () => (await runtime.capacity()).gpus.find(({ pool }) => pool === under.gpuPool)?.free;
      expect(await free()).toBe(2);
      const id = await started('idle', { gpu: { pool: under.gpuPool, count: 2 } });
      expect(await free()).toBe(0);
      if (!under.trustsPlacement) {
        const late = started('idle', { gpu: { pool: under.gpuPool, count: 1 } });
        await expect(late).rejects.toBeInstanceOf(NoCapacity);
        expect(await runtime.list()).toHaveLength(1);
      }
      await runtime.stop(id, 0);
      expect(await free()).toBe(2);
    });

    test('usage is reported in percent while a workload runs, and not at all otherwise', async () => {
      const id = await started('tick', { gpu: { pool: under.gpuPool, count: 1 } });
      const { cpuUtil, memoryUtil, gpus } = (await runtime.stats(id))!;
      for (const figure of [cpuUtil, memoryUtil]) {
        expect(figure).toBeGreaterThanOrEqual(0);
        expect(figure).toBeLessThanOrEqual(100);
      }
      expect(gpus).toEqual([{ util: 0, memoryUtil: 0 }]);
      expect(await runtime.stats('nosuchworkload')).toBeNull();
      const ended = await started('exit7');
      await until(runtime, ended, (one) => one?.state === 'exited');
      expect(await runtime.stats(ended)).toBeNull();
    });

    const suite: Suite = { under: () => under, runtime: () => runtime, spec, started, ready };
    logsContract(suite);
    placesContract(suite);
    execContract(suite);
  });
}

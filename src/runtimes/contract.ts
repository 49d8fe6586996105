import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { workloadSpec } from '../../test/workload-spec.ts';
import { newId } from '../core/ids.ts';
import { execContract } from './contract-exec.ts';
import { collect, freePort, lineOf, never, observe, TIMEOUT_MS, textAt, until } from './contract-probes.ts';
import type { Program } from './contract-programs.ts';
import { type LogLine, NoCapacity, type Runtime, type WorkloadSpec } from './runtime.ts';

export interface RuntimeUnderTest {
  /** Opens a runtime; with the same installation again, as a restarted Podyard does. The suite closes each. */
  open(installation: string): Promise<Runtime>;
  image: string;
  programs: Record<Program, string>;
  /** The least memory of a program, where that is measured. */
  leastMemoryBytes?: number;
  /** A pool that has exactly 2 GPUs. */
  gpuPool: string;
  /** GPUs are simulated, and a start does not check for free ones: the caller has counted. */
  trustsPlacement?: boolean;
  /** Programs really run: the suite can connect to them, and they write files. */
  isReal: boolean;
  /** The node pulls when a workload starts; only then is an unknown image refused. */
  pullsAtStart?: boolean;
  /** A program's input cannot be ended: an old API server. */
  endsNoInput?: boolean;
  /** Changes by other processes are seen with a delay. */
  seesOthersLate?: boolean;
  /** Creates storage and returns the `source` of its mount. Default: a directory of this machine. */
  makeStorage?(): Promise<string>;
  close?(): Promise<void>;
}

const NOTHING_RUNS = 'no program really runs there';

/** Tests the guarantees of runtime.ts. Each runtime calls this in its own test file. */
export function runtimeContract(name: string, makeRuntime: () => Promise<RuntimeUnderTest>): void {
  describe(`${name}: the contract of a runtime`, { timeout: 60_000 }, () => {
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
    const ready = async (program: 'idle' | 'deaf') => {
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
      await runtime.stop(id, 30_000);
      expect(performance.now() - begin).toBeLessThan(TIMEOUT_MS);
      expect(await runtime.list()).toEqual([]);
    });

    test('a stop kills a workload that does not end within the grace period', async () => {
      const id = await ready('deaf');
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
      await runtime.stop(id, 30_000);
      expect(performance.now() - begin).toBeLessThan(TIMEOUT_MS);
      expect(await runtime.list()).toEqual([]);
    });

    test('logs have every line in order, also after the end, and a resume neither loses nor repeats one', async () => {
      const id = await started('burst');
      const all = await collect(runtime.logs(id, { follow: true, signal: never() }));
      const expected = [...Array.from({ length: 2000 }, (_, i) => `line ${i + 1}`), 'last'];
      expect(all.map(({ line }) => line)).toEqual(expected);
      await until(runtime, id, (seen) => seen?.state === 'exited');
      for (const at of [0, 1, 777, 1500, 1999, 2000]) {
        const { ts } = all[at]!;
        const seen = all.slice(0, at + 1).filter((line) => line.ts.getTime() === ts.getTime()).length;
        const rest = await collect(runtime.logs(id, { since: ts, seen, follow: false, signal: never() }));
        expect(rest).toEqual(all.slice(at + 1));
        const later = await collect(runtime.logs(id, { since: ts, follow: false, signal: never() }));
        expect(later).toEqual(all.filter((line) => line.ts > ts));
      }
    });

    test('logs can be followed, left, and followed again while the workload runs', async () => {
      const id = await started('tick');
      const first: LogLine[] = [];
      await lineOf(runtime, id, (line, ts) => first.push({ line, ts }) === 5);
      const { ts } = first.at(-1)!;
      const seen = first.filter((line) => line.ts.getTime() === ts.getTime()).length;
      const next: string[] = [];
      await lineOf(runtime, id, (line) => next.push(line) === 5, { since: ts, seen });
      expect(next).toEqual(['tick 6', 'tick 7', 'tick 8', 'tick 9', 'tick 10']);
    });

    test('following logs ends when the workload is stopped or the reader aborts', async () => {
      const id = await ready('idle');
      const abort = new AbortController();
      const aborted = runtime.logs(id, { follow: true, signal: abort.signal })[Symbol.asyncIterator]();
      const followed = runtime.logs(id, { follow: true, signal: never() })[Symbol.asyncIterator]();
      for (const one of [aborted, followed]) expect((await one.next()).value).toMatchObject({ line: 'ready' });
      const ends = [aborted.next(), followed.next()];
      abort.abort();
      expect(await ends[0]).toMatchObject({ done: true });
      await runtime.stop(id, 0);
      expect(await ends[1]).toMatchObject({ done: true });
    });

    test('the last lines that a workload printed to stderr are known after its end, until it is stopped', async () => {
      const id = await started('crash');
      await until(runtime, id, (seen) => seen?.state === 'exited');
      expect(await runtime.lastOutput(id, 3)).toEqual(['oops 28', 'oops 29', 'oops 30']);
      expect((await runtime.lastOutput(id, 100)).slice(-30)[0]).toBe('oops 1');
      await runtime.stop(id, 0);
      expect(await runtime.lastOutput(id, 3)).toEqual([]);
    });

    test('the last lines of a workload that prints nothing to stderr are those of stdout, also while it runs', async () => {
      const id = await ready('idle');
      expect(await runtime.lastOutput(id, 3)).toEqual(['ready']);
    });

    test('an unknown image is refused by name', async () => {
      const image = 'podyard.invalid/no-such-image:v1';
      if (!under.pullsAtStart) await expect(runtime.prepare(image)).rejects.toThrow(image);
      await expect(runtime.start(spec('idle', { image }))).rejects.toThrow(image);
      expect(await runtime.list()).toEqual([]);
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
      const heir = await open(installation);
      expect(await stranger.list()).toEqual([]);
      await stranger.stop(id, 0);
      expect((await heir.list()).map((seen) => seen.id)).toEqual([id]);
      await lineOf(heir, id, (line) => line === 'tick 5');
      await heir.freeze(id);
      if (under.seesOthersLate) await until(runtime, id, (seen) => seen?.state === 'frozen');
      expect(await observe(runtime, id)).toMatchObject({ state: 'frozen' });
      await heir.stop(id, 0);
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

    test('a start returns the workload’s address and ports, as the list does until it ends', async () => {
      const ports = ['8000/http', '22/tcp'];
      const wanted = spec('idle', { kind: 'pod', ports });
      const place = await runtime.start(wanted);
      expect(await runtime.start(wanted)).toEqual(place);
      const { address, publishedPorts } = await observe(runtime, wanted.id);
      expect({ address, publishedPorts }).toEqual(place);
      expect(publishedPorts.map(({ private: port, type }) => `${port}/${type}`)).toEqual(ports);
      const ended = await started('exit7', { ports });
      const seen = await until(runtime, ended, (one) => one?.state === 'exited');
      expect(seen).toMatchObject({ address: null, publishedPorts: [] });
    });

    test('a workload’s port can be reached, and a pod’s TCP port is published; nothing else is', async ({ skip }) => {
      skip(!under.isReal, NOTHING_RUNS);
      const mine = createServer((_, answer) => answer.end('this machine')).listen(0);
      await once(mine, 'listening');
      const stranger = (mine.address() as AddressInfo).port;
      const port = await freePort();
      const ports = [`${port}/tcp`, `${port}/http`];
      const served = await started('serve', { kind: 'pod', ports, env: { LISTEN: String(port) } });
      await lineOf(runtime, served, (line) => line === 'up');
      const neighbour = await ready('idle');
      expect(await textAt(await runtime.reach(served, port))).toBe('hello');
      const [published, unpublished] = (await observe(runtime, served)).publishedPorts;
      expect(unpublished).toEqual({ private: port, type: 'http', public: null, ip: null });
      expect(await textAt({ host: published!.ip!, port: published!.public! })).toBe('hello');
      expect(await textAt(await runtime.reach(neighbour, port))).toBe('nothing');
      for (const id of [served, neighbour]) expect(await textAt(await runtime.reach(id, stranger))).toBe('nothing');
      await runtime.stop(served, 0);
      expect(await runtime.reach(served, port)).toBeNull();
      expect(await runtime.reach('nosuchworkload', port)).toBeNull();
      mine.close();
      mine.closeAllConnections();
    });

    test('a group keeps its network until that is removed', async () => {
      const group = { id: newId<string>(), size: 3, ports: [] };
      const [network] = await Promise.all([runtime.groups.ensure(group), runtime.groups.ensure(group)]);
      const again = await runtime.groups.ensure(group);
      const facts = ({ cidr, primary, port, addressOf }: typeof network) => [cidr, primary, port, addressOf(2)];
      expect(facts(again)).toEqual(facts(network));
      if (network.cidr !== null) expect(new Set([0, 1, 2].map(network.addressOf)).size).toBe(3);
      if (network.cidr !== null) expect(await runtime.groups.list()).toEqual([group.id]);
      await runtime.groups.remove(group.id);
      await runtime.groups.remove(group.id);
      expect(await runtime.groups.list()).toEqual([]);
    });

    test('a mounted directory is shared and outlives the workloads', async ({ skip }) => {
      skip(!under.isReal, NOTHING_RUNS);
      const directory = mkdtempSync(join(tmpdir(), 'podyard-mount-'));
      const source = (await under.makeStorage?.()) ?? directory;
      const target = `/${newId<string>()}`;
      try {
        for (const [word, said] of Object.entries({ one: 'one', two: 'one,two' })) {
          const env = { WORD: word, RUNPOD_VOLUME_PATH: target };
          const id = await started('store', { env, mounts: [{ source, target }] });
          await lineOf(runtime, id, (line) => line === said);
          await runtime.stop(id, 0);
        }
        if (source !== directory) return; // the second workload has read what the first one wrote
        expect(readdirSync(source)).toEqual(['words']);
        expect(readFileSync(join(source, 'words'), 'utf8')).toBe('one\ntwo\n');
      } finally {
        rmSync(directory, { recursive: true });
      }
    });

    test('a missing mount fails the start with one sentence and leaves nothing behind', async ({ skip }) => {
      skip(!under.isReal, NOTHING_RUNS);
      const source = under.makeStorage ? 'podyard-no-such-storage' : join(tmpdir(), 'podyard-no-such-directory');
      const wanted = spec('idle', { mounts: [{ source, target: '/podyard-test' }] });
      await expect(runtime.start(wanted)).rejects.toThrow(source);
      expect(await runtime.list()).toEqual([]);
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

    execContract({
      runtime: () => runtime,
      idle: () => ready('idle'),
      ended: async () => {
        const id = await started('exit7');
        await until(runtime, id, (one) => one?.state === 'exited');
        return id;
      },
      isReal: () => under.isReal,
      endsNoInput: () => under.endsNoInput === true,
    });
  });
}

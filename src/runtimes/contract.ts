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
import { type LogLine, NoCapacity, type Observed, type Runtime, type WorkloadSpec } from './runtime.ts';

/**
 * What workloads of the suite do:
 * - idle: prints `ready`, runs until SIGTERM, then exits with 0
 * - deaf: the same, but SIGTERM does nothing
 * - env: prints `GREETING=<value>` and `LEAK=<value or none>` of the variables GREETING and PODYARD_TEST_LEAK, then idles
 * - exit7: prints `going` and exits with 7
 * - tick: prints `tick 1`, `tick 2`, … every 20 ms
 * - burst: prints `line 1` … `line 2000`, `last` without a line end, and exits with 0
 * - serve: answers HTTP with `hello`, on all interfaces, at the port that the variable LISTEN names, and prints `up` then
 * - store: appends the variable WORD to the file `words` in RUNPOD_VOLUME_PATH, prints the file without its line ends, ends
 * - missing: a command that does not exist
 */
export type Program = 'idle' | 'deaf' | 'env' | 'exit7' | 'tick' | 'burst' | 'serve' | 'store' | 'missing';

/** The programs as `args` for an image that holds node. */
export const NODE_PROGRAMS: Record<Program, string> = {
  ...Object.fromEntries(
    Object.entries({
      idle: "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000); console.log('ready');",
      deaf: "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready');",
      env: "const { GREETING, PODYARD_TEST_LEAK } = process.env; console.log('GREETING=' + GREETING); console.error('LEAK=' + (PODYARD_TEST_LEAK ?? 'none')); setInterval(() => {}, 1000);",
      exit7: "console.log('going'); process.exitCode = 7;",
      tick: "let n = 0; setInterval(() => console.log('tick ' + ++n), 20);",
      burst: "for (let n = 1; n <= 2000; n++) console.log('line ' + n); process.stdout.write('last');",
      serve:
        "require('http').createServer((q, a) => a.end('hello')).listen(process.env.LISTEN, '0.0.0.0', () => console.log('up'));",
      store:
        "const file = process.env.RUNPOD_VOLUME_PATH + '/words'; const fs = require('fs'); fs.appendFileSync(file, process.env.WORD + '\\n'); console.log(fs.readFileSync(file, 'utf8').trim().split('\\n').join());",
    }).map(([name, code]) => [name, JSON.stringify({ entrypoint: ['node', '-e', code] })]),
  ),
  missing: JSON.stringify({ entrypoint: ['/no/such/program'] }),
} as Record<Program, string>;

export interface RuntimeUnderTest {
  /** Opens a runtime; the same installation again is what a restarted Podyard does. The suite closes each. */
  open(installation: string): Promise<Runtime>;
  image: string;
  programs: Record<Program, string>;
  /** What a program holds in memory at the least, where that is real. */
  leastMemoryBytes?: number;
  /** A pool that has exactly 2 GPUs. */
  gpuPool: string;
  /** Its GPUs are simulated, and it does not look whether any is left: whoever places has counted. */
  trustsPlacement?: boolean;
  /** Whether programs really run, so that they can be connected to and write files. */
  isReal: boolean;
  /** Somebody else pulls when a workload starts: then, and not before, an unknown image is refused. */
  pullsAtStart?: boolean;
  /** What another process does is seen a moment later. */
  hearsOfOthersLate?: boolean;
  /** What mounts have as their source, where it is no directory of this machine. */
  makeStorage?(): Promise<string>;
  close?(): Promise<void>;
}

const PATIENCE_MS = 15_000;
const NOTHING_RUNS = 'nothing really runs there';

/** The guarantees of runtime.ts, as tests. Each runtime calls this in a test file of its own. */
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

    test('the environment of the spec reaches the workload, and that of the server does not', async () => {
      const id = await started('env', { env: { GREETING: 'hello "you" $HOME\nand you' } });
      await lineOf(runtime, id, (line) => line === 'GREETING=hello "you" $HOME');
      await lineOf(runtime, id, (line) => line === 'LEAK=none');
    });

    test('a workload that ended stays listed with its exit code, and watch tells of it', async () => {
      const told = new Set<string>();
      const unwatch = runtime.watch((id) => told.add(id));
      const id = await started('exit7', { kind: 'pod' });
      const ended = await until(runtime, id, (seen) => seen?.state === 'exited');
      expect(ended).toMatchObject({ kind: 'pod', exitCode: 7, address: null });
      expect(ended!.finishedAt!.getTime()).toBeGreaterThanOrEqual(ended!.startedAt!.getTime());
      expect(told).toContain(id);
      unwatch();
    });

    test('a workload that ended is started afresh by a start', async () => {
      const wanted = spec('exit7');
      await runtime.start(wanted);
      await until(runtime, wanted.id, (seen) => seen?.state === 'exited');
      await runtime.start({ ...wanted, args: under.programs.idle });
      expect(await observe(runtime, wanted.id)).toMatchObject({ state: 'running', exitCode: null });
    });

    test('a freeze stops all execution and a thaw goes on where it stopped', async ({ skip }) => {
      skip(runtime.capabilities.freeze === 'parked', 'what is parked runs on');
      const id = await started('tick');
      await lineOf(runtime, id, (line) => line === 'tick 3');
      await runtime.freeze(id);
      await runtime.freeze(id);
      expect(await observe(runtime, id)).toMatchObject({ state: 'frozen' });
      const frozenMs = 400;
      await sleep(frozenMs); // the time in which nothing may happen
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

    test('what is parked is seen as frozen and runs on', async ({ skip }) => {
      skip(runtime.capabilities.freeze !== 'parked', 'a freeze stops it');
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

    test('the memory of a workload is told, also while it is frozen', async () => {
      const id = await ready('idle');
      expect(await runtime.memoryBytes(id)).toBeGreaterThanOrEqual(under.leastMemoryBytes ?? 0);
      await runtime.freeze(id);
      expect(await runtime.memoryBytes(id)).toBeGreaterThanOrEqual(under.leastMemoryBytes ?? 0);
      await expect(runtime.memoryBytes('nosuchworkload')).rejects.toMatchObject({ kind: 'notFound' });
    });

    test('a freeze or thaw of what is not there, or has ended, is refused', async () => {
      await expect(runtime.freeze('nosuchworkload')).rejects.toMatchObject({ kind: 'notFound' });
      const id = await started('exit7');
      await until(runtime, id, (seen) => seen?.state === 'exited');
      await expect(runtime.freeze(id)).rejects.toMatchObject({ kind: 'conflict' });
      await expect(runtime.thaw(id)).rejects.toMatchObject({ kind: 'conflict' });
    });

    test('a stop gives the workload time to end by itself, and not more than it needs', async () => {
      const id = await ready('idle');
      const begin = performance.now();
      await runtime.stop(id, 30_000);
      expect(performance.now() - begin).toBeLessThan(PATIENCE_MS);
      expect(await runtime.list()).toEqual([]);
    });

    test('a stop kills what does not end within the grace time', async () => {
      const id = await ready('deaf');
      const begin = performance.now();
      await Promise.all([runtime.stop(id, 1000), runtime.stop(id, 1000)]);
      expect(performance.now() - begin).toBeGreaterThan(900);
      expect(await runtime.list()).toEqual([]);
      await runtime.stop(id, 1000);
      await runtime.stop('nosuchworkload', 1000);
    });

    test('a frozen workload is stopped as well', async () => {
      const id = await ready('idle');
      await runtime.freeze(id);
      const begin = performance.now();
      await runtime.stop(id, 30_000);
      expect(performance.now() - begin).toBeLessThan(PATIENCE_MS);
      expect(await runtime.list()).toEqual([]);
    });

    test('logs hold every line in order, also after the end, and a resume neither loses nor repeats one', async () => {
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

    test('logs can be followed while the workload runs, left, and followed again', async () => {
      const id = await started('tick');
      const first: LogLine[] = [];
      await lineOf(runtime, id, (line, ts) => first.push({ line, ts }) === 5);
      const { ts } = first.at(-1)!;
      const seen = first.filter((line) => line.ts.getTime() === ts.getTime()).length;
      const next: string[] = [];
      await lineOf(runtime, id, (line) => next.push(line) === 5, { since: ts, seen });
      expect(next).toEqual(['tick 6', 'tick 7', 'tick 8', 'tick 9', 'tick 10']);
    });

    test('a follower ends when the workload is stopped, or when it aborts', async () => {
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

    test('an unknown image is refused with a sentence that names it', async () => {
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

    test('after a restart the workloads are still there, and another installation never sees them', async () => {
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
      if (under.hearsOfOthersLate) await until(runtime, id, (seen) => seen?.state === 'frozen');
      expect(await observe(runtime, id)).toMatchObject({ state: 'frozen' });
      await heir.stop(id, 0);
      if (under.hearsOfOthersLate) await until(runtime, id, (seen) => seen === undefined);
      expect(await runtime.list()).toEqual([]);
    });

    test('many starts at once all succeed', async () => {
      const ids = await Promise.all(Array.from({ length: 20 }, () => started('idle')));
      const seen = await runtime.list();
      expect(seen.map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(seen.every(({ state }) => state === 'running')).toBe(true);
    });

    test('a GPU is taken while a workload holds it, and free again afterwards', async () => {
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

    test('a start tells where the workload is and its ports, as the list does until it ends', async () => {
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

    test('a port of a workload is reached, and published for a pod; nothing else ever is', async ({ skip }) => {
      skip(!under.isReal, NOTHING_RUNS);
      const mine = createServer((_, answer) => answer.end('this machine')).listen(0);
      await once(mine, 'listening');
      const stranger = (mine.address() as AddressInfo).port;
      const port = await freePort();
      const more = { kind: 'pod' as const, ports: [`${port}/http`], env: { LISTEN: String(port) } };
      const served = await started('serve', more);
      await lineOf(runtime, served, (line) => line === 'up');
      const neighbour = await ready('idle');
      expect(await textAt(await runtime.reach(served, port))).toBe('hello');
      const [published] = (await observe(runtime, served)).publishedPorts;
      expect(await textAt({ host: published!.ip!, port: published!.public! })).toBe('hello');
      expect(await textAt(await runtime.reach(neighbour, port))).toBe('nothing');
      for (const id of [served, neighbour]) expect(await textAt(await runtime.reach(id, stranger))).toBe('nothing');
      await runtime.stop(served, 0);
      expect(await runtime.reach(served, port)).toBeNull();
      expect(await runtime.reach('nosuchworkload', port)).toBeNull();
      mine.close();
      mine.closeAllConnections();
    });

    test('a mounted directory is shared, and outlives the workloads', async ({ skip }) => {
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
        if (source !== directory) return; // whatever it is, the second workload has read what the first one wrote
        expect(readdirSync(source)).toEqual(['words']);
        expect(readFileSync(join(source, 'words'), 'utf8')).toBe('one\ntwo\n');
      } finally {
        rmSync(directory, { recursive: true });
      }
    });

    test('a mount that cannot be had is one sentence, and nothing is left behind', async ({ skip }) => {
      skip(!under.isReal, NOTHING_RUNS);
      const source = under.makeStorage ? 'podyard-no-such-storage' : join(tmpdir(), 'podyard-no-such-directory');
      const wanted = spec('idle', { mounts: [{ source, target: '/podyard-test' }] });
      await expect(runtime.start(wanted)).rejects.toThrow(source);
      expect(await runtime.list()).toEqual([]);
    });

    test('what a running workload uses is told in percent, and nothing of one that does not run', async () => {
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
  });
}

/** What answers there; `nothing` when nobody does. */
async function textAt(place: { host: string; port: number } | null): Promise<string> {
  if (place === null) return 'nothing';
  const url = `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${place.port}/`;
  return fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
    (answer) => answer.text(),
    () => 'nothing',
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function never(): AbortSignal {
  return AbortSignal.timeout(PATIENCE_MS);
}

async function observe(runtime: Runtime, id: string): Promise<Observed> {
  const seen = (await runtime.list()).find((one) => one.id === id);
  if (!seen) throw new Error(`workload ${id} is not listed`);
  return seen;
}

/** Waits, told by `watch`, until the workload looks as wanted. Fails when it never does. */
async function until(
  runtime: Runtime,
  id: string,
  isWanted: (seen: Observed | undefined) => boolean,
): Promise<Observed | undefined> {
  let wake = () => {};
  const unwatch = runtime.watch(() => wake());
  const deadline = Date.now() + PATIENCE_MS;
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const seen = (await runtime.list()).find((one) => one.id === id);
      if (isWanted(seen)) return seen;
      if (Date.now() > deadline) throw new Error(`workload ${id} never got there: ${JSON.stringify(seen)}`);
      await Promise.race([changed, sleep(1000)]); // an event is a hint; the list is the truth
    }
  } finally {
    unwatch();
  }
}

/** Follows the logs until a line is the one wanted. */
async function lineOf(
  runtime: Runtime,
  id: string,
  isWanted: (line: string, ts: Date) => boolean,
  from: { since?: Date; seen?: number } = {},
): Promise<void> {
  const lines: string[] = [];
  for await (const { line, ts } of runtime.logs(id, { ...from, follow: true, signal: never() })) {
    lines.push(line);
    if (isWanted(line, ts)) return;
  }
  throw new Error(`the line never came; there were ${JSON.stringify(lines.slice(-20))}`);
}

async function collect(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

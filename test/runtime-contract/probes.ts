/** The contract suite's input, and how it observes a runtime: by its list, its logs and its ports. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLine, Observed, Runtime, WorkloadSpec } from '../../src/runtimes/runtime.ts';

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
  /** Opens a runtime whose engine can be cut off. Absent: the engine is never away. */
  openCuttable?(installation: string): Promise<{ runtime: Runtime; cut(): Promise<void>; restore(): Promise<void> }>;
  close?(): Promise<void>;
}

/** Shared by the parts of the suite. `runtime` is known once the suite runs. */
export interface Suite {
  under(): RuntimeUnderTest;
  runtime(): Runtime;
  spec(program: Program, more?: Partial<WorkloadSpec>): WorkloadSpec;
  /** Starts a workload and returns its id. */
  started(program: Program, more?: Partial<WorkloadSpec>): Promise<string>;
  /** The same, once the program has printed `ready`. */
  ready(program: 'idle' | 'stubborn'): Promise<string>;
}

/** Why a test is skipped. */
export const NOTHING_RUNS = 'no program really runs there';

export const TIMEOUT_MS = 30_000;

/** Returns the response of the address; `nothing` when there is none. */
export async function textAt(place: { host: string; port: number } | null): Promise<string> {
  if (place === null) return 'nothing';
  const url = `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${place.port}/`;
  return fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
    (answer) => answer.text(),
    () => 'nothing',
  );
}

/** A signal that aborts only when a test hangs. */
export function never(): AbortSignal {
  return AbortSignal.timeout(TIMEOUT_MS);
}

/** Returns the listed workload. Throws when it is not listed. */
export async function observe(runtime: Runtime, id: string): Promise<Observed> {
  const seen = (await runtime.list()).find((one) => one.id === id);
  if (!seen) throw new Error(`workload ${id} is not listed`);
  return seen;
}

/** Resolves once the workload is as wanted, checking at each event of `watch` and every second. Fails on timeout. */
export async function until(
  runtime: Runtime,
  id: string,
  isWanted: (seen: Observed | undefined) => boolean,
): Promise<Observed | undefined> {
  let wake = () => {};
  const unwatch = runtime.watch(() => wake());
  const deadline = performance.now() + TIMEOUT_MS;
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const seen = (await runtime.list()).find((one) => one.id === id);
      if (isWanted(seen)) return seen;
      if (performance.now() > deadline) throw new Error(`workload ${id} is not as wanted: ${JSON.stringify(seen)}`);
      await Promise.race([changed, sleep(1000)]); // an event is a hint; the list is the truth
    }
  } finally {
    unwatch();
  }
}

/** Follows the logs until `isWanted` accepts a line. */
export async function lineOf(
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
  throw new Error(`the line never came; got ${JSON.stringify(lines.slice(-20))}`);
}

/** Reads all lines. */
export async function collect(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

/**
 * The programs that the suite's workloads run:
 * - idle: prints `ready`, runs until SIGTERM, then exits with 0
 * - stubborn: the same, but ignores SIGTERM
 * - env: prints `GREETING=<value>` and `LEAK=<value or none>` of the variables GREETING and PODYARD_TEST_LEAK, then idles
 * - exit7: prints `going` and exits with 7
 * - crash: prints `going`, then `oops 1` … `oops 30` to stderr, and exits with 1
 * - tick: prints `tick 1`, `tick 2`, … every 20 ms
 * - burst: prints `line 1` … `line 2000`, then `last` without a line end, and exits with 0
 * - serve: serves `hello` over HTTP on all interfaces, on the port in LISTEN; prints `up` once it listens
 * - store: appends WORD to the file `words` in RUNPOD_VOLUME_PATH, prints the file's lines joined by commas, and exits
 * - missing: a command that does not exist
 */
export type Program =
  | 'idle'
  | 'stubborn'
  | 'env'
  | 'exit7'
  | 'crash'
  | 'tick'
  | 'burst'
  | 'serve'
  | 'store'
  | 'missing';

/** The programs as `args` for an image with node. */
export const NODE_PROGRAMS: Record<Program, string> = {
  ...Object.fromEntries(
    Object.entries({
      idle: "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000); console.log('ready');",
      stubborn: "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready');",
      env: "const { GREETING, PODYARD_TEST_LEAK } = process.env; console.log('GREETING=' + GREETING); console.error('LEAK=' + (PODYARD_TEST_LEAK ?? 'none')); setInterval(() => {}, 1000);",
      exit7: "console.log('going'); process.exitCode = 7;",
      crash: "console.log('going'); for (let n = 1; n <= 30; n++) console.error('oops ' + n); process.exitCode = 1;",
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

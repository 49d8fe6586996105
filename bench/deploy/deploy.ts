import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KEY } from '../coldstart/client.ts';
import { median } from '../median.ts';
import { isInstalled } from '../needs.ts';
import { readOptions } from '../options.ts';
import { Latencies } from '../queue/latencies.ts';
import { type Program, startProgram } from '../queue/program.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import { type EngineBuilds, measureEngineBuilds } from './engine-builds.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const LANGUAGES = ['javascript', 'python'] as const;
type Language = (typeof LANGUAGES)[number];

/** Nobody saves faster; what the last save has started has come to rest. */
const PAUSE_MS = 1_000;
/** A job that reached the old code in the moment of its end runs again half a minute later. */
const LOST_MS = 10_000;

interface Report {
  startedAt: string;
  machine: Machine;
  /** From the save of a line to the answer of the first job that ran on it, in ms. */
  saveMs: Record<Language, number[]>;
  /** From Enter to the prompt of `podyard deploy` in a folder that has not changed, in ms. */
  unchangedMs: number[];
  /** As `saveMs`, with `--remote` on a server whose workers are processes. */
  remoteMs: number[];
  /** Null: this machine has no container engine. */
  builds: EngineBuilds | null;
}

/** `node bench/main.ts deploy`: see bench/README.md. Prints a table, writes JSON. */
export async function benchDeploy(args: string[]): Promise<void> {
  const values = readOptions(args, {
    saves: { type: 'string', default: '30' },
    deploys: { type: 'string', default: '10' },
    builds: { type: 'string', default: '5' },
    main: { type: 'string', default: MAIN },
  });
  const home = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const report: Report = {
    startedAt: new Date().toISOString(),
    machine: describeMachine(home),
    saveMs: { javascript: [], python: [] },
    unchangedMs: [],
    remoteMs: [],
    builds: null,
  };
  try {
    if (Number(values.builds) > 0 && isInstalled('docker')) {
      report.builds = await measureEngineBuilds(join(home, 'engine'), Number(values.builds), values.main);
    }
    for (const language of Number(values.saves) > 0 ? LANGUAGES : []) {
      report.saveMs[language] = await measureSaves(join(home, language), home, language, values);
    }
    if (Number(values.saves) > 0) Object.assign(report, await measureServer(join(home, 'javascript'), home, values));
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
  process.stdout.write(render(report));
  await writeResults('deploy', report);
}

const CODE = {
  javascript: (answer: number) => ['handler.js', `export default async () => ${answer};\n`],
  python: (answer: number) => ['handler.py', `def handler(job):\n    return ${answer}\n`],
} as const;

async function measureSaves(
  folder: string,
  home: string,
  language: Language,
  { saves, main }: { saves: string; main: string },
): Promise<number[]> {
  await mkdir(folder);
  const save = saverOf(folder, language);
  await save(0);
  const dev = await startDev(folder, home, main);
  try {
    return await timesOf(callerOf(dev), save, Number(saves));
  } finally {
    await dev.stop();
  }
}

const saverOf = (folder: string, language: Language) => async (answer: number) => {
  const [name, text] = CODE[language](answer);
  await writeFile(join(folder, name!), text!);
};

async function timesOf(
  run: () => Promise<unknown>,
  save: (answer: number) => Promise<void>,
  saves: number,
): Promise<number[]> {
  await untilAnswer(run, 0);
  const times: number[] = [];
  for (let answer = 1; answer <= saves; answer++) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const savedAt = performance.now();
    await save(answer);
    await untilAnswer(run, answer);
    times.push(performance.now() - savedAt);
  }
  return times;
}

/** Measures a folder that `dev` has served before. */
async function measureServer(
  folder: string,
  home: string,
  { saves, deploys, main }: { saves: string; deploys: string; main: string },
): Promise<Pick<Report, 'unchangedMs' | 'remoteMs'>> {
  const server = await startProgram({
    command: process.execPath,
    args: [main, 'serve', '--port', '0', '--data-dir', join(home, 'data'), '--runtime', 'process', '--stop-workers'],
    env: { PODYARD_ADMIN_KEY: KEY, HOME: home },
    ready: /Podyard is ready at (http:\S+)/,
  });
  try {
    const env = { ...process.env, PODYARD_URL: server.readyAt, PODYARD_API_KEY: KEY, HOME: home };
    const deploy = () => promisify(execFile)(process.execPath, [main, 'deploy', folder], { env });
    await deploy();
    const unchangedMs: number[] = [];
    for (let i = 0; i < Number(deploys); i++) {
      const startedAt = performance.now();
      await deploy();
      unchangedMs.push(performance.now() - startedAt);
    }
    const save = saverOf(folder, 'javascript');
    await save(0);
    const args = [main, 'dev', folder, '--remote'];
    const dev = await startProgram({ command: process.execPath, args, env, ready: /\/endpoints\/(\w+)/ });
    try {
      const readyAt = `${server.readyAt}/v2/${dev.readyAt}/runsync -H 'Authorization: Bearer ${KEY}'`;
      return { unchangedMs, remoteMs: await timesOf(callerOf({ readyAt }), save, Number(saves)) };
    } finally {
      await dev.stop();
    }
  } finally {
    await server.stop();
  }
}

function startDev(folder: string, home: string, main: string): Promise<Program> {
  return startProgram({
    command: process.execPath,
    args: [main, 'dev', folder, '--port', '0'],
    env: { HOME: home, XDG_CACHE_HOME: join(home, 'cache') },
    ready: /curl -X POST (\S+\/runsync -H 'Authorization: Bearer \S+')/,
  });
}

/** Returns what runs a job as the printed call does, and gives its output. */
function callerOf({ readyAt }: Pick<Program, 'readyAt'>): () => Promise<unknown> {
  const [, url, authorization] = /^(\S+) -H 'Authorization: (.+)'$/.exec(readyAt)!;
  return async () => {
    const response = await fetch(url!, {
      method: 'POST',
      headers: { authorization: authorization!, 'content-type': 'application/json' },
      body: '{"input": {}}',
      signal: AbortSignal.timeout(60_000),
    });
    return ((await response.json()) as { output?: unknown }).output;
  };
}

/** Sends one job after another. */
async function untilAnswer(run: () => Promise<unknown>, answer: number): Promise<void> {
  while ((await run()) !== answer);
}

function render({ machine, saveMs, remoteMs, unchangedMs, builds }: Report): string {
  const rows = [
    ...LANGUAGES.map((language) => row(`dev, ${language}: save → next job on new code`, saveMs[language])),
    row('dev --remote, javascript: the same', remoteMs),
    row('deploy of an unchanged folder: Enter → prompt', unchangedMs),
  ];
  const head = ['', 'p50 ms', 'p99 ms', 'worst ms', 'late'];
  return [
    `${machine.cpus}, Node.js ${machine.node}\n`,
    ...(saveMs.python.length > 0 ? [renderTable([head, ...rows])] : []),
    ...(builds ? [renderBuilds(builds)] : []),
  ].join('\n');
}

function renderBuilds(builds: EngineBuilds): string {
  const compare = (title: string, own: number, peer: number) => [
    title,
    ...[own, peer].map((ms) => ms.toFixed(own < 100 ? 1 : 0)),
    (own / peer).toFixed(2),
  ];
  const { changedMs, bareChangedMs, firstMs, bareFirstMs, quietJobMs, busyJobMs } = builds;
  return renderTable([
    ['', 'ms', 'beside it, ms', 'ratio'],
    compare('one changed line / BuildKit and docker run', median(changedMs), median(bareChangedMs)),
    ...(firstMs.length > 0
      ? [compare('first deploy of the Python template / BuildKit', median(firstMs), median(bareFirstMs))]
      : []),
    compare('p99 of jobs while a build runs / without', p99(busyJobMs), p99(quietJobMs)),
  ]);
}

function p99(times: readonly number[]): number {
  const latencies = new Latencies();
  for (const ms of times) latencies.add(ms);
  return latencies.percentiles()?.p99 ?? Number.NaN;
}

function row(title: string, times: readonly number[]): string[] {
  const latencies = new Latencies();
  const inTime = times.filter((ms) => ms < LOST_MS);
  for (const ms of inTime) latencies.add(ms);
  const found = latencies.percentiles();
  const figures = [found?.p50, found?.p99, found?.max].map((ms) => (ms ?? Number.NaN).toFixed(0));
  return [title, ...figures, `${times.length - inTime.length} of ${times.length}`];
}

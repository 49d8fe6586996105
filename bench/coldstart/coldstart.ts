import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildImages } from '../../src/runtimes/docker/images/example-images.ts';
import { median } from '../median.ts';
import { Missing } from '../needs.ts';
import { readOptions } from '../options.ts';
import { Latencies } from '../queue/latencies.ts';
import { type Program, startProgram } from '../queue/program.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import { BareEngine } from './bare.ts';
import { Client, KEY, SETTLE_MS } from './client.ts';
import { type KitProgram, measureKits } from './kits.ts';

const IMAGE = 'podyard/echo-js:dev';
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

interface Report {
  startedAt: string;
  machine: Machine;
  /** In ms, one value per round. */
  coldMs: number[];
  bareRunMs: number[];
  thawMs: number[];
  /** With one GPU for two endpoints. */
  swapMs: number[];
  burstMs: number[];
  bareStartMs: number[];
  kitMs: Record<KitProgram, number[]>;
}

/** `node bench/main.ts coldstart`: see bench/README.md. Prints tables, writes JSON. */
export async function benchColdstart(args: string[]): Promise<void> {
  const values = readOptions(args, {
    rounds: { type: 'string', default: '5' },
    thaws: { type: 'string', default: '20' },
    burst: { type: 'string', default: '20' },
    bursts: { type: 'string', default: '2' },
    swaps: { type: 'string', default: '100' },
    kits: { type: 'string', default: '15' },
    main: { type: 'string', default: MAIN },
  });
  const [rounds, thaws, burst, bursts, swaps, kits] = [
    values.rounds,
    values.thaws,
    values.burst,
    values.bursts,
    values.swaps,
    values.kits,
  ].map(Number) as [number, number, number, number, number, number];
  await buildImages().catch((error: Error) => {
    throw new Missing(`needs Docker or Podman: ${error.message}`);
  });
  const dataDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const machine = describeMachine(dataDir);
  const report: Report = {
    startedAt: new Date().toISOString(),
    machine,
    coldMs: [],
    bareRunMs: [],
    thawMs: [],
    swapMs: [],
    burstMs: [],
    bareStartMs: [],
    kitMs: await measureKits(kits),
  };
  const bare = await BareEngine.open(IMAGE);
  let podyard: Program | undefined;
  try {
    podyard = await startPodyard(values.main, dataDir, burst);
    const client = new Client({ url: podyard.readyAt, image: IMAGE });
    for (let i = 0; i < rounds; i++) {
      report.coldMs.push((await client.coldStart()).waitedMs);
      report.bareRunMs.push(await bare.run());
      await bare.removeContainers();
      await sleep(SETTLE_MS);
    }
    report.thawMs = await client.thaws(thaws);
    for (let i = 0; i < bursts; i++) {
      report.burstMs.push(await client.burst(burst));
      report.bareStartMs.push(await bare.startAll(burst));
      await bare.removeContainers();
      await sleep(SETTLE_MS);
    }
    if (swaps > 0) {
      await podyard.stop();
      podyard = await startPodyard(values.main, dataDir, 1);
      report.swapMs = await new Client({ url: podyard.readyAt, image: IMAGE }).swaps(swaps);
    }
  } finally {
    await bare.close();
    await podyard?.stop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
  process.stdout.write(render(report, burst));
  await writeResults('coldstart', report);
}

function startPodyard(main: string, dataDir: string, gpus: number): Promise<Program> {
  const flags = ['--port', '0', '--data-dir', dataDir, '--runtime', 'docker', '--simulate-gpus', `ADA_24:${gpus}`];
  return startProgram({
    command: process.execPath,
    args: ['--max-semi-space-size=16', main, 'serve', ...flags, '--log-level', 'warn', '--stop-workers'],
    env: { PODYARD_ADMIN_KEY: KEY, PODYARD_RATE_LIMIT: 'off' },
    ready: /Podyard is ready at (http:\S+)/,
  });
}

function render(report: Report, burst: number): string {
  const { cpus, node, fsyncMs } = report.machine;
  const ms = (value: number) => value.toFixed(0);
  const compare = (title: string, own: number[], peer: number[]) => {
    const [mine, theirs] = [median(own), median(peer)];
    return [title, ms(mine), ms(theirs), (mine / theirs).toFixed(2)];
  };
  const percentiles = (title: string, waits: readonly number[]) => {
    const latencies = new Latencies();
    for (const one of waits) latencies.add(one);
    const found = latencies.percentiles();
    return [title, ...[found?.p50, found?.p99, found?.max].map((value) => ms(value ?? Number.NaN))];
  };
  return [
    `${cpus}, Node.js ${node}, fdatasync ${fsyncMs.toFixed(2)} ms; medians; from the submit until the handler runs\n`,
    renderTable([
      ['', 'Podyard, ms', 'engine alone, ms', 'ratio'],
      compare('from zero / docker run', report.coldMs, report.bareRunMs),
      compare(`burst of ${burst} from zero / ${burst} docker start`, report.burstMs, report.bareStartMs),
    ]),
    renderTable([
      ['from a program’s start to its first request', 'kit, ms', 'bare, ms', 'ratio'],
      compare('JavaScript', report.kitMs['JavaScript kit'], report.kitMs['JavaScript bare']),
      compare('Python', report.kitMs['Python kit'], report.kitMs['Python bare']),
    ]),
    renderTable([
      ['', 'p50 ms', 'p99 ms', 'worst ms'],
      percentiles(`thaw, ${report.thawMs.length} times`, report.thawMs),
      percentiles(`swap on one GPU, ${report.swapMs.length} times`, report.swapMs),
    ]),
  ].join('\n');
}

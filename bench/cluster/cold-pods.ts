import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildImages } from '../../src/runtimes/docker/images/example-images.ts';
import { now, PROGRAM } from '../coldstart/bare.ts';
import { Client, KEY } from '../coldstart/client.ts';
import { type Begun, OneJobServer } from '../coldstart/one-job-server.ts';
import { median } from '../median.ts';
import { type Program, startProgram } from '../queue/program.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import { BenchCluster } from './bench-cluster.ts';
import type { ClusterOptions } from './options.ts';
import { type PodMoments, PodWatch } from './pod-watch.ts';

const IMAGE = 'podyard/echo-js:dev';
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** The node cleans up after a pod for a while; the next start must not pay for it. */
const SETTLE_MS = 3_000;

/** How long each part of a start took, in ms, all by the same clock. */
interface Stages {
  /** From the submit, or the create request, until the cluster has the pod. */
  asked: number;
  /** From then until its Secret exists; 0 for a bare pod. */
  secret: number;
  scheduled: number;
  /** From the assignment to a node until the program starts. */
  begun: number;
  /** From then until its handler runs. */
  handler: number;
  total: number;
}

interface Report {
  startedAt: string;
  machine: Machine;
  podyard: Stages[];
  bare: Stages[];
}

/** Starts from zero on the cluster, in turn with bare pods of the same image. */
export async function benchColdPods(options: ClusterOptions): Promise<void> {
  await buildImages();
  const cluster = await BenchCluster.open();
  const dataDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const report: Report = {
    startedAt: new Date().toISOString(),
    machine: describeMachine(dataDir),
    podyard: [],
    bare: [],
  };
  const jobs = await OneJobServer.listen(cluster.hostAddress);
  const watch = await PodWatch.open(cluster);
  let podyard: Program | undefined;
  try {
    await cluster.importImage(IMAGE);
    podyard = await startPodyard(dataDir, cluster, options['cpu-prof']);
    const client = new Client({ url: podyard.readyAt, image: IMAGE });
    for (let i = 0; i < Number(options.rounds ?? 8); i++) {
      const { workerId, submittedAt, ...start } = await client.coldStart();
      const name = `podyard-${workerId}`;
      report.podyard.push(stagesOf(submittedAt, watch.of(name), start));
      await watch.untilGone(name);
      await sleep(SETTLE_MS);
      process.stderr.write(`\r${i + 1} starts `);
      report.bare.push(await runBare(cluster, jobs, watch, `bare-${i}`));
      await sleep(SETTLE_MS);
    }
  } finally {
    await podyard?.stop();
    watch.close();
    jobs.close();
    await cluster.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
  process.stdout.write(render(report));
  await writeResults('cluster-coldstart', report);
}

function startPodyard(dataDir: string, cluster: BenchCluster, profileDir: string | undefined): Promise<Program> {
  const flags = ['--port', '0', '--data-dir', dataDir, '--runtime', 'kubernetes', '--simulate-gpus', 'ADA_24:1'];
  const profile = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : [];
  return startProgram({
    command: process.execPath,
    args: ['--max-semi-space-size=16', ...profile, MAIN, 'serve', ...flags, '--log-level', 'warn', '--stop-workers'],
    env: { ...cluster.env, PODYARD_ADMIN_KEY: KEY, PODYARD_RATE_LIMIT: 'off' },
    ready: /Podyard is ready at (http:\S+)/,
  });
}

/** A pod with only the image, the program and its environment. */
async function runBare(cluster: BenchCluster, jobs: OneJobServer, watch: PodWatch, name: string): Promise<Stages> {
  const [entrypoint, ...args] = PROGRAM;
  const env = Object.entries(jobs.env(name)).map(([key, value]) => ({
    name: key,
    value: value.replace('$ID', '$$ID'),
  }));
  const container = { name: 'main', image: IMAGE, command: [entrypoint], args, env };
  const begun = jobs.expect(name);
  const startedAt = now();
  await cluster.client.create(cluster.path('pods'), {
    metadata: { name },
    spec: { restartPolicy: 'Never', containers: [container] },
  });
  const stages = stagesOf(startedAt, watch.of(name), await begun);
  await cluster.client.delete(cluster.path('pods', name), { gracePeriodSeconds: 1 });
  await watch.untilGone(name);
  return stages;
}

function stagesOf(from: number, { created, scheduled, secret }: PodMoments, { born, at }: Begun): Stages {
  return {
    asked: created! - from,
    secret: secret === undefined ? 0 : secret - created!,
    scheduled: scheduled! - created!,
    begun: born - scheduled!,
    handler: at - born,
    total: at - from,
  };
}

function render({ machine, podyard, bare }: Report): string {
  const ms = (stages: readonly Stages[], name: keyof Stages) => median(stages.map((one) => one[name]));
  const row = (title: string, name: keyof Stages) => {
    const [own, peer] = [ms(podyard, name), ms(bare, name)];
    return [
      title,
      own.toFixed(0),
      peer.toFixed(0),
      name === 'total' ? (own / peer).toFixed(2) : (own - peer).toFixed(0),
    ];
  };
  return [
    `\n${machine.cpus}, Node.js ${machine.node}; medians of ${bare.length} alternating starts, ms\n`,
    renderTable([
      ['', 'Podyard', 'bare pod', 'difference'],
      row('until the cluster has the pod', 'asked'),
      row('(its Secret, after that)', 'secret'),
      row('until it has a node, after that', 'scheduled'),
      row('until the program starts', 'begun'),
      row('until its handler runs', 'handler'),
    ]),
    renderTable([
      ['', 'Podyard', 'bare pod', 'ratio'],
      row('from the submit, or create request, until the handler runs', 'total'),
    ]),
  ].join('\n');
}

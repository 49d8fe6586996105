import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from '../median.ts';
import { playRound, type Round } from '../queue/compare.ts';
import { startPodyard } from '../queue/podyard.ts';
import { startPostgres } from '../queue/postgres.ts';
import { countFaults, number } from '../queue/report.ts';
import type { Subject } from '../queue/subject.ts';
import { podyardSubject, type Setup } from '../queue/systems.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import type { ClusterOptions } from './options.ts';

interface ProcessesReport {
  startedAt: string;
  machine: Machine;
  /** By the number of processes that share the port. */
  shared: { processes: number; rounds: Round[] }[];
  /** Clients at one process and workers at another: no job finds its worker in its own process. */
  apart: Round[];
}

/** One process and several on the same PostgreSQL, in turn; and jobs whose worker waits at another process. */
export async function benchProcesses(options: ClusterOptions): Promise<void> {
  const rounds = Number(options.rounds ?? 3);
  const seconds = Number(options.seconds ?? 20); // several processes each warm their own compiler
  const processes = Number(options.processes ?? 2);
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  const nodeArgs = options['cpu-prof'] ? ['--cpu-prof', `--cpu-prof-dir=${options['cpu-prof']}`] : [];
  const setup: Setup = { tempDir, postgres, nodeArgs };
  try {
    const report: ProcessesReport = {
      startedAt: new Date().toISOString(),
      machine: describeMachine(tempDir),
      shared: [1, processes].map((count) => ({ processes: count, rounds: [] })),
      apart: [],
    };
    for (let round = 0; round < rounds; round++) {
      for (const side of report.shared) {
        process.stderr.write(`round ${round + 1} of ${rounds}: ${side.processes} on one port\n`);
        const subject = await startShared(setup, side.processes, `shared_${side.processes}_${round}`);
        side.rounds.push(await playRound(subject, setup, seconds));
      }
      process.stderr.write(`round ${round + 1} of ${rounds}: clients and workers apart\n`);
      report.apart.push(await playRound(await startApart(setup, `apart_${round}`), setup, seconds));
    }
    process.stdout.write(render(report));
    await writeResults('cluster-processes', report);
  } finally {
    await postgres.stop();
    await rm(tempDir, { recursive: true, force: true });
  }
}

async function startShared(setup: Setup, dataProcesses: number, run: string): Promise<Subject> {
  const databaseUrl = await setup.postgres.createDatabase(run);
  const dataDir = join(setup.tempDir, run);
  const podyard = await startPodyard({ dataDir, databaseUrl, dataProcesses, nodeArgs: setup.nodeArgs });
  return podyardSubject(`${dataProcesses} processes`, setup, databaseUrl, podyard);
}

/** Starts two servers, each with its own ports. */
async function startApart(setup: Setup, run: string): Promise<Subject> {
  const databaseUrl = await setup.postgres.createDatabase(run);
  const start = (name: string) =>
    startPodyard({ dataDir: join(setup.tempDir, run, name), databaseUrl, nodeArgs: setup.nodeArgs });
  const ofClients = await start('clients');
  const ofWorkers = await start('workers');
  return podyardSubject('apart', setup, databaseUrl, ofClients, { ofWorkers });
}

function render({ machine, shared, apart }: ProcessesReport): string {
  const [one, several] = shared as [ProcessesReport['shared'][number], ProcessesReport['shared'][number]];
  const sides = [one.rounds, several.rounds, apart];
  type Round = ProcessesReport['apart'][number];
  const row = (title: string, digits: number, pick: (round: Round) => number | undefined) => {
    const figures = sides.map((rounds) => median(rounds.map((round) => pick(round) ?? Number.NaN)));
    return [title, ...figures.map((figure) => number(figure, digits)), number(figures[1]! / figures[0]!, 2)];
  };
  const cpu = ({ saturated: { watched } }: Round) => watched.server!.cpuUsPerJob + watched.store!.cpuUsPerJob;
  const faults = ({ paced, runsync, saturated }: Round) => countFaults([paced, runsync, saturated]);
  return [
    `${machine.cpus}, Node.js ${machine.node}, fdatasync ${machine.fsyncMs.toFixed(2)} ms; medians of the rounds; the load generator runs on the same machine\n`,
    renderTable([
      ['100 jobs/s; then 128 submitters and 128 workers', 'one', `${several.processes} on a port`, 'apart', 'ratio'],
      row('submit to dispatch, p50 ms', 2, ({ paced }) => paced.latenciesMs.handOver?.p50),
      row('submit to dispatch, p99 ms', 2, ({ paced }) => paced.latenciesMs.handOver?.p99),
      row('runsync round trip, p50 ms', 2, ({ runsync }) => runsync.latenciesMs.runsync?.p50),
      row('runsync round trip, p99 ms', 2, ({ runsync }) => runsync.latenciesMs.runsync?.p99),
      row('jobs/s', 0, ({ saturated }) => saturated.finishedPerSecond),
      row(
        'server CPU, us per job (apart: the clients’ server)',
        0,
        ({ saturated }) => saturated.watched.server!.cpuUsPerJob,
      ),
      row('database CPU, us per job', 0, ({ saturated }) => saturated.watched.store!.cpuUsPerJob),
      row('both, us per job', 0, cpu),
      row('load CPU, us per request', 1, ({ saturated }) => saturated.loadCpuUsPerRequest),
      row('CPU used by others, %', 0, ({ saturated }) => saturated.othersCpuShare * 100),
      row('the machine: hashing 4 MB, ms', 1, (round) => round.hashMs),
      row('server memory, MB', 0, ({ saturated }) => saturated.watched.server!.rssMb),
      row('failed requests, lost or duplicate jobs', 0, faults),
    ]),
  ].join('\n');
}

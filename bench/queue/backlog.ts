import { join } from 'node:path';
import type { LoadResult } from './load.ts';
import { createEndpoint, fillQueue, KEY, purgeQueue, registerWorkers, startPodyard } from './podyard.ts';
import { usageOfTree } from './process-usage.ts';
import { playOn, type Subject } from './subject.ts';
import { type Setup, WORKERS } from './systems.ts';

export interface BacklogRun {
  jobs: number;
  /** The server's memory with the jobs queued: after its start, and after all rounds. */
  rssMb: { started: number; worked: number };
  readyMs: number;
  rounds: { saturated: LoadResult; submit: LoadResult; drain: LoadResult }[];
}

/**
 * Two Podyards on one PostgreSQL, one with an empty queue and one with `jobs` queued, take turns at the same work:
 * everything at once, only submits, only takes and results.
 */
export async function compareBacklog(
  setup: Setup,
  options: { jobs: number; rounds: number; seconds: number },
): Promise<BacklogRun[]> {
  const sides = [await startSide(setup, 0), await startSide(setup, options.jobs)];
  try {
    for (let round = 0; round < options.rounds; round++) {
      for (const { subject, run } of sides) {
        process.stderr.write(`round ${round + 1} of ${options.rounds}: ${run.jobs} jobs queued\n`);
        run.rounds.push(await playRound(subject, setup, options.seconds));
        if (run.jobs === 0) await purgeQueue(subject.clientUrl, subject.endpointIds[0]!);
      }
    }
    for (const { subject, run } of sides) run.rssMb.worked = usageOfTree(subject.pid).rssMb;
    return sides.map((side) => side.run);
  } finally {
    for (const { subject } of sides) await subject.stop();
  }
}

/** Drains only as many jobs as were submitted before, or the empty queue would run dry. */
async function playRound(subject: Subject, setup: Setup, seconds: number): Promise<BacklogRun['rounds'][number]> {
  const times = { seconds, warmUp: 2 };
  return {
    saturated: await playOn(subject, setup.tempDir, 'saturated', times),
    submit: await playOn(subject, setup.tempDir, 'submit', times),
    drain: await playOn(subject, setup.tempDir, 'drain', { seconds: seconds * 0.7, warmUp: 1 }),
  };
}

async function startSide(setup: Setup, jobs: number): Promise<{ subject: Subject; run: BacklogRun }> {
  const databaseUrl = await setup.postgres.createDatabase(`podyard_backlog_${jobs}`);
  const dataDir = join(setup.tempDir, `podyard-backlog-${jobs}`);
  const first = await startPodyard({ dataDir, databaseUrl });
  const endpointId = await createEndpoint(first);
  await first.stop();
  const workers = await registerWorkers(databaseUrl, endpointId, WORKERS);
  if (jobs > 0) {
    process.stderr.write(`queueing ${jobs} jobs\n`);
    await fillQueue(databaseUrl, endpointId, jobs);
  }
  const podyard = await startPodyard({ dataDir, databaseUrl, nodeArgs: setup.nodeArgs });
  const { pid, clientUrl, workerUrl, readyMs } = podyard;
  const store = { name: 'postgres', pid: setup.postgres.pid };
  return {
    subject: {
      name: `${jobs} queued`,
      pid,
      store,
      clientUrl,
      workerUrl,
      endpointIds: [endpointId],
      key: KEY,
      workers,
      stop: podyard.stop,
    },
    run: { jobs, rssMb: { started: usageOfTree(pid).rssMb, worked: 0 }, readyMs, rounds: [] },
  };
}

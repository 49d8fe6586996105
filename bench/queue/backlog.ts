import { join } from 'node:path';
import type { LoadResult } from './load.ts';
import { createEndpoint, fillQueue, KEY, purgeQueue, registerWorkers, startPodyard } from './podyard.ts';
import { usageOfTree } from './process-usage.ts';
import { playOn, type Subject } from './subject.ts';
import { type Ground, WORKERS } from './systems.ts';

export interface BacklogRun {
  jobs: number;
  /** Of the server, with the jobs already queued when it starts: after the start, and after all rounds. */
  rssMb: { started: number; worked: number };
  readyMs: number;
  rounds: { saturated: LoadResult; submit: LoadResult; drain: LoadResult }[];
}

/**
 * Two Podyards on one PostgreSQL, one with an empty queue and one with `jobs` queued, take turns at the same work:
 * everything at once, only submits, only takes and results.
 */
export async function compareBacklog(
  ground: Ground,
  options: { jobs: number; rounds: number; seconds: number },
): Promise<BacklogRun[]> {
  const sides = [await startSide(ground, 0), await startSide(ground, options.jobs)];
  try {
    for (let round = 0; round < options.rounds; round++) {
      for (const { subject, run } of sides) {
        process.stderr.write(`round ${round + 1} of ${options.rounds}: ${run.jobs} jobs queued\n`);
        run.rounds.push(await playRound(subject, ground, options.seconds));
        if (run.jobs === 0) await purgeQueue(subject.clientUrl, subject.endpointId);
      }
    }
    for (const { subject, run } of sides) run.rssMb.worked = usageOfTree(subject.pid).rssMb;
    return sides.map((side) => side.run);
  } finally {
    for (const { subject } of sides) await subject.stop();
  }
}

/** Only as many jobs are drained as were submitted before, or the empty side would run dry. */
async function playRound(subject: Subject, ground: Ground, seconds: number): Promise<BacklogRun['rounds'][number]> {
  const times = { seconds, warmUp: 2 };
  return {
    saturated: await playOn(subject, ground.tempDir, 'saturated', times),
    submit: await playOn(subject, ground.tempDir, 'submit', times),
    drain: await playOn(subject, ground.tempDir, 'drain', { seconds: seconds * 0.7, warmUp: 1 }),
  };
}

async function startSide(ground: Ground, jobs: number): Promise<{ subject: Subject; run: BacklogRun }> {
  const databaseUrl = await ground.postgres.createDatabase(`podyard_backlog_${jobs}`);
  const dataDir = join(ground.tempDir, `podyard-backlog-${jobs}`);
  const first = await startPodyard({ dataDir, databaseUrl });
  const endpointId = await createEndpoint(first);
  await first.stop();
  const workers = await registerWorkers(databaseUrl, endpointId, WORKERS);
  if (jobs > 0) {
    process.stderr.write(`queueing ${jobs} jobs\n`);
    await fillQueue(databaseUrl, endpointId, jobs);
  }
  const podyard = await startPodyard({ dataDir, databaseUrl, nodeArgs: ground.nodeArgs });
  const { pid, clientUrl, workerUrl, readyMs } = podyard;
  const store = { name: 'postgres', pid: ground.postgres.pid };
  return {
    subject: {
      name: `${jobs} queued`,
      pid,
      store,
      clientUrl,
      workerUrl,
      endpointId,
      key: KEY,
      workers,
      stop: podyard.stop,
    },
    run: { jobs, rssMb: { started: usageOfTree(pid).rssMb, worked: 0 }, readyMs, rounds: [] },
  };
}

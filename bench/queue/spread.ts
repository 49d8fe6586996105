import { join } from 'node:path';
import type { LoadResult } from './load.ts';
import { startPodyard } from './podyard.ts';
import { playOn } from './subject.ts';
import { podyardSubject, type Setup } from './systems.ts';

/** Full speed on so many endpoints, which get jobs in turn. */
export interface SpreadRun {
  endpoints: number;
  workers: number;
  rounds: LoadResult[];
}

const ENDPOINTS = [1, 10, 100, 1_000];

/** The same load on more and more endpoints, in turns: group commit and counters have less in common to share. */
export async function measureSpread(
  setup: Setup,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<SpreadRun[]> {
  const runs = ENDPOINTS.map((endpoints): SpreadRun => ({ endpoints, workers: 0, rounds: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const run of runs) {
      process.stderr.write(`round ${round + 1} of ${rounds}: ${run.endpoints} endpoints\n`);
      const databaseUrl = await setup.postgres.createDatabase(`podyard_spread_${run.endpoints}_${round}`);
      const dataDir = join(setup.tempDir, `podyard-spread-${run.endpoints}-${round}`);
      const podyard = await startPodyard({ dataDir, databaseUrl, nodeArgs: setup.nodeArgs });
      const subject = await podyardSubject('podyard', setup, databaseUrl, podyard, { endpoints: run.endpoints });
      try {
        run.workers = subject.workers.length;
        const load = { seconds, warmUp: 4, 'worker-count': run.workers };
        run.rounds.push(await playOn(subject, setup.tempDir, 'saturated', load));
      } finally {
        await subject.stop();
      }
    }
  }
  return runs;
}

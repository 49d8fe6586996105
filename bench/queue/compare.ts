import type { LoadResult } from './load.ts';
import { playOn, type Subject } from './subject.ts';
import type { Ground, System } from './systems.ts';

/** What each way of load showed. */
export interface Round {
  saturated: LoadResult;
  paced: LoadResult;
  runsync: LoadResult;
}

export interface Comparison {
  system: string;
  rounds: Round[];
}

const WAITING_WORKERS = 16;

/** Every system alone, one after the other, and again in each further round, so that a busy minute hits nobody alone. */
export async function compareSystems(
  systems: readonly System[],
  ground: Ground,
  options: { rounds: number; seconds: number },
): Promise<Comparison[]> {
  const comparisons = systems.map((system): Comparison => ({ system: system.name, rounds: [] }));
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, system] of systems.entries()) {
      process.stderr.write(`round ${round + 1} of ${options.rounds}: ${system.name}\n`);
      const subject = await system.start(ground, `round${round}`);
      comparisons[i]!.rounds.push(await playRound(subject, ground, options.seconds));
    }
  }
  return comparisons;
}

/** Each way of load in turn; the subject is stopped afterwards. */
export async function playRound(
  subject: Subject,
  { tempDir }: Pick<Ground, 'tempDir'>,
  seconds: number,
): Promise<Round> {
  try {
    const paced = { seconds, warmUp: 3, rate: 100, 'worker-count': WAITING_WORKERS };
    return {
      paced: await playOn(subject, tempDir, 'paced', paced),
      runsync: await playOn(subject, tempDir, 'runsync', paced),
      saturated: await playOn(subject, tempDir, 'saturated', { seconds, warmUp: 4 }),
    };
  } finally {
    await subject.stop();
  }
}

import type { LoadResult } from './load.ts';
import { playOn } from './subject.ts';
import type { Ground, System } from './systems.ts';

export interface Comparison {
  system: string;
  rounds: { saturated: LoadResult; paced: LoadResult; runsync: LoadResult }[];
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
      comparisons[i]!.rounds.push(await playRound(system, ground, `round${round}`, options.seconds));
    }
  }
  return comparisons;
}

async function playRound(
  system: System,
  ground: Ground,
  run: string,
  seconds: number,
): Promise<Comparison['rounds'][number]> {
  const subject = await system.start(ground, run);
  try {
    const paced = { seconds, warmUp: 3, rate: 100, 'worker-count': WAITING_WORKERS };
    return {
      paced: await playOn(subject, ground.tempDir, 'paced', paced),
      runsync: await playOn(subject, ground.tempDir, 'runsync', paced),
      saturated: await playOn(subject, ground.tempDir, 'saturated', { seconds, warmUp: 4 }),
    };
  } finally {
    await subject.stop();
  }
}

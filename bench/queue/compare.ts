import { hashMs } from '../results.ts';
import type { LoadResult } from './load.ts';
import { playOn, type Subject } from './subject.ts';
import type { Setup, System } from './systems.ts';

/** The results of each mode of load. */
interface Loads {
  saturated: LoadResult;
  paced: LoadResult;
  runsync: LoadResult;
}

/** `hashMs`: how fast the machine was, before and after; see `hashMs`. */
export interface Round extends Loads {
  hashMs: number;
}

export interface Comparison {
  system: string;
  rounds: Round[];
}

const WAITING_WORKERS = 16;
/** Seconds at full speed until V8 has compiled what runs often: about 1.2 s of its threads' CPU, for each process of a server. */
const COMPILED_AFTER = 15;

/** Measures every system alone, one after another in each round, so that a busy minute does not hit only one. */
export async function compareSystems(
  systems: readonly System[],
  setup: Setup,
  options: { rounds: number; seconds: number },
): Promise<Comparison[]> {
  const comparisons = systems.map((system): Comparison => ({ system: system.name, rounds: [] }));
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, system] of systems.entries()) {
      process.stderr.write(`round ${round + 1} of ${options.rounds}: ${system.name}\n`);
      const subject = await system.start(setup, `round${round}`);
      comparisons[i]!.rounds.push(await playRound(subject, setup, options.seconds));
    }
  }
  return comparisons;
}

/** Runs each mode in turn, then stops the subject. */
export async function playRound(
  subject: Subject,
  { tempDir }: Pick<Setup, 'tempDir'>,
  seconds: number,
): Promise<Round> {
  try {
    const before = hashMs();
    const paced = { seconds, warmUp: 3, rate: 100, 'worker-count': WAITING_WORKERS };
    const loads: Loads = {
      paced: await playOn(subject, tempDir, 'paced', paced),
      runsync: await playOn(subject, tempDir, 'runsync', paced),
      saturated: await playOn(subject, tempDir, 'saturated', { seconds, warmUp: COMPILED_AFTER }),
    };
    return { ...loads, hashMs: (before + hashMs()) / 2 };
  } finally {
    await subject.stop();
  }
}

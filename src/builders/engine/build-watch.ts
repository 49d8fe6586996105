import type { Failure } from '../../core/errors.ts';
import type { BuildLimits } from '../builder.ts';
import { type BuildDisk, findDiskFault } from '../free-disk.ts';
import { StepFinder } from './step-groups.ts';

/** How often it looks. A step that forks or allocates without end has as long as that. */
const LOOK_MS = 200;

export interface Watched extends BuildDisk {
  /** Marks the steps (step-groups.ts). */
  host: string;
  limits: BuildLimits;
  /** The place of the build among those that run. */
  place: number;
  /** Ends the build. */
  end(why: Failure): void;
}

/** Bounds the steps of a build that is to begin, and ends it before the disk of the engine is full. Resolves with what stops that. */
export async function watchBuild(watched: Watched): Promise<() => Promise<void>> {
  let isOver = false;
  let look = Promise.resolve();
  const finder = new StepFinder(watched.host);
  await finder.leaveOutPresent(); // else each look would read hundreds of files, beside everybody's jobs
  const timer = setInterval(() => {
    look = look.then(async () => {
      if (isOver) return;
      for await (const group of finder.find()) await group.bound(watched.limits, watched.place);
      const why = await findDiskFault(watched);
      if (why !== null) watched.end(why);
    });
  }, LOOK_MS);
  return async () => {
    isOver = true;
    clearInterval(timer);
    await look;
  };
}

/** Ends the programs of steps that have outlived their build. */
export async function killSteps(host: string): Promise<void> {
  const kills: Promise<void>[] = [];
  for await (const group of new StepFinder(host).find()) kills.push(group.kill());
  await Promise.all(kills);
}

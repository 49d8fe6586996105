import { Failure } from '../../core/errors.ts';
import { readDisk } from '../../core/files/read-disk.ts';
import type { BuildLimits } from '../builder.ts';
import { StepFinder } from './step-groups.ts';

/** How often it looks. A step that forks or allocates without end has as long as that. */
const LOOK_MS = 200;

export interface Watched {
  /** Marks the steps (step-groups.ts). */
  host: string;
  limits: BuildLimits;
  /** The folder in which the engine keeps images; null where it is not on this machine. */
  folder: string | null;
  reserveBytes: number;
  /** Ends the build. */
  end(why: Failure): void;
}

/** Bounds the steps of a build while it runs, and ends it before the disk of the engine is full. Returns what stops that. */
export function watchBuild(watched: Watched): () => Promise<void> {
  let isOver = false;
  let look = Promise.resolve();
  const finder = new StepFinder(watched.host);
  const timer = setInterval(() => {
    look = look.then(async () => {
      if (isOver) return;
      for (const group of await finder.find()) await group.bound(watched.limits);
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

/** Returns why no build may go on; null if there is room, or nobody can say. */
export async function findDiskFault({
  folder,
  reserveBytes,
}: Pick<Watched, 'folder' | 'reserveBytes'>): Promise<Failure | null> {
  const found = folder === null ? null : await readDisk(folder).catch(() => null);
  if (found === null) return null;
  const free = found.freeBytes;
  if (free >= reserveBytes) return null;
  const [has, keeps] = [free, reserveBytes].map((bytes) => `${Math.floor(bytes / 1e6)} MB`);
  return new Failure(
    'unavailable',
    `The disk of the engine's machine is almost full: ${has} are free, and builds leave ${keeps}.`,
  );
}

/** Ends the programs of steps that have outlived their build. */
export async function killSteps(host: string): Promise<void> {
  await Promise.all((await new StepFinder(host).find()).map((group) => group.kill()));
}

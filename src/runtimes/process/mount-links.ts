/**
 * Mounts without containers. A mount is a symbolic link, always inside the workload's own folder (`/workspace` becomes
 * `workspace` there). It is also linked at its real path if that is directly below `/`, free, and Podyard may write
 * there. RUNPOD_VOLUME_PATH names the directory in any case.
 */
import { lstatSync, mkdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import type { Mount, OnProgress, WorkloadSpec } from '../runtime.ts';

const TOP_LEVEL = /^\/[^/]+$/;

/** Returns the variable that tells the workload where its storage is. */
export function mountEnv({ mounts }: Pick<WorkloadSpec, 'mounts'>): Record<string, string> {
  return mounts[0] === undefined ? {} : { RUNPOD_VOLUME_PATH: mounts[0].source };
}

/**
 * Creates the links. Throws `conflict` when something else is in the way: the program would write to the wrong place.
 * A link that merely cannot be created is reported to `onProgress`.
 */
export function linkMounts(mounts: readonly Mount[], work: string, onProgress: OnProgress): void {
  for (const { source, target } of mounts) {
    if (!lstatSync(source, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure('unavailable', `Directory ${source} does not exist and cannot be mounted at ${target}`);
    }
    linkInside(work, source, target);
    if (!linkAtPath(source, target)) {
      onProgress(`${target} cannot be created on this machine: use ${source} instead (RUNPOD_VOLUME_PATH)`);
    }
  }
}

/** Removes the links at real paths, except those that `held` still needs. */
export function unlinkMounts(mounts: readonly Mount[], held: readonly Mount[]): void {
  for (const { source, target } of mounts) {
    const isHeld = held.some((other) => other.source === source && other.target === target);
    if (isHeld || linkOf(target) !== source) continue;
    try {
      unlinkSync(target);
    } catch {
      // already removed
    }
  }
}

/** The image's files are links in the same folder: creating something below one would create it in the image itself. */
function linkInside(work: string, source: string, target: string): void {
  const first = join(work, target.split('/')[1]!);
  if (lstatSync(first, { throwIfNoEntry: false })) {
    throw new Failure('unprocessable', `Storage cannot be mounted at ${target}: the image has files there`);
  }
  const path = join(work, target);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(source, path);
}

/** False when the link may not be created, or its path is not directly below `/`. */
function linkAtPath(source: string, target: string): boolean {
  if (!TOP_LEVEL.test(target) || linkOf(target) === source) return TOP_LEVEL.test(target);
  try {
    symlinkSync(source, target);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    const what = linkOf(target) === undefined ? 'other files' : 'another workload’s storage';
    const text = `Storage cannot be mounted at ${target}: without containers the path is shared, and ${what} is there`;
    throw new Failure('conflict', text, { cause: error });
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

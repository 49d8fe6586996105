/**
 * Mounts without a container: a workload sees the directories of this machine as they are. So a mount is a link: always
 * in the workload's own folder (`/workspace` is `workspace` there), and at the very path where that is a name directly
 * below `/`, nothing is there, and Podyard may make one. RUNPOD_VOLUME_PATH names the directory in any case.
 */
import { lstatSync, mkdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import type { Mount, OnProgress, WorkloadSpec } from '../runtime.ts';

const TOP_LEVEL = /^\/[^/]+$/;

/** Where the workload finds its storage, whatever the machine allows. */
export function mountEnv({ mounts }: Pick<WorkloadSpec, 'mounts'>): Record<string, string> {
  return mounts[0] === undefined ? {} : { RUNPOD_VOLUME_PATH: mounts[0].source };
}

/**
 * Makes the links. Throws `conflict` where something else is in the way, for a program that wrote there would write to
 * the wrong place; where a link merely cannot be made, `tell` hears of it.
 */
export function linkMounts(mounts: readonly Mount[], work: string, tell: OnProgress): void {
  for (const { source, target } of mounts) {
    if (!lstatSync(source, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure('unavailable', `The directory ${source} to mount at ${target} is not there`);
    }
    linkInside(work, source, target);
    if (!linkAtPath(source, target)) {
      tell(`${target} cannot be made on this machine: the storage is at ${source}, which RUNPOD_VOLUME_PATH names`);
    }
  }
}

/** Takes the links at their paths away again, but for those that others still need. */
export function unlinkMounts(mounts: readonly Mount[], held: readonly Mount[]): void {
  for (const { source, target } of mounts) {
    const isHeld = held.some((other) => other.source === source && other.target === target);
    if (isHeld || linkOf(target) !== source) continue;
    try {
      unlinkSync(target);
    } catch {
      // somebody was faster
    }
  }
}

/** The image's files are links in the same folder: what is made below one of them would be made in the image itself. */
function linkInside(work: string, source: string, target: string): void {
  const first = join(work, target.split('/')[1]!);
  if (lstatSync(first, { throwIfNoEntry: false })) {
    throw new Failure('conflict', `The image has files of its own at ${target}: storage cannot be mounted there`);
  }
  const path = join(work, target);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(source, path);
}

/** False where it may not be made, or lies deeper than directly below `/`. */
function linkAtPath(source: string, target: string): boolean {
  if (!TOP_LEVEL.test(target) || linkOf(target) === source) return TOP_LEVEL.test(target);
  try {
    symlinkSync(source, target);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    const what = linkOf(target) === undefined ? 'files of its own' : 'the storage of another workload';
    const text = `This machine has ${what} at ${target}: without containers only one can be there`;
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

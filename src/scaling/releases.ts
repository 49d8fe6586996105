import { type Because, because } from './because.ts';

/** The releases of an endpoint. */
export interface Releases {
  /** The newest. */
  version: number;
  /** While paused, no worker leaves for being outdated; new workers are still on the newest release. */
  isRolloutPaused: boolean;
}

/**
 * Returns how much of an endpoint's work a release is to do, from 0 to 1. Workers of a release without any are outdated: they leave for
 * others of their endpoint. Only this function compares a worker's release with the newest one for that.
 */
export function weightOf({ version, isRolloutPaused }: Releases, release: number): number {
  return release === version || isRolloutPaused ? 1 : 0;
}

/** True for a worker of the release on which new workers start. */
export function isNewest({ version }: Pick<Releases, 'version'>, worker: { version: number }): boolean {
  return worker.version === version;
}

/** Orders workers by release, the newest first. */
export function byRelease(a: { version: number }, b: { version: number }): number {
  return b.version - a.version;
}

/** Why an outdated worker leaves. */
export function whyOutdated({ version: newest }: Pick<Releases, 'version'>, { version }: { version: number }): Because {
  return because('OUTDATED', { version, newest });
}

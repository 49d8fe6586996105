import type { BuildId, ReleaseId, UserId } from '../../core/ids.ts';

/** A changed field of a release, dotted (`gpu.count`); `old` or `new` is null if the value was or is absent. */
export interface ReleaseChange {
  field: string;
  old: unknown;
  new: unknown;
}

export interface Release {
  id: ReleaseId;
  version: number;
  createdBy: UserId | null;
  createdAt: Date;
  diff: ReleaseChange[];
  /** The build that made its image; null: another image. */
  buildId: BuildId | null;
  /** Live workers on this release. */
  workerCount: number;
}

import type { ReleaseId, UserId } from '../../core/ids.ts';

/** One changed field of a release, dotted (`gpu.count`); null where the value was or is absent. */
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
  /** Live workers that run it. */
  workerCount: number;
}

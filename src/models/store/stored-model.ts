/** The questions to the store of a machine's models, and its answers. */
import type { UserId, WorkerId } from '../../core/ids.ts';
import type { ModelRecord } from './model-records.ts';
import type { UsedModel } from './worker-views.ts';

/** A model of a worker, with the owner's token where it needs one. */
export interface WantedModel extends UsedModel {
  token: string | null;
}

export interface BringOptions {
  userId: UserId;
  workerId: WorkerId;
  /** Called with a line for the worker's log: when a fetch begins or ends, and every few seconds in between. */
  onProgress: (line: string) => void;
  signal: AbortSignal;
}

/** A stored model as operators see it. */
export interface StoredModel extends Pick<ModelRecord, 'model' | 'fetchedAt' | 'usedAt' | 'isKept'> {
  /** A worker sees it. */
  isHeld: boolean;
}

/** How far the fetch of a model is. */
export interface FetchingModel {
  id: string;
  bytes: number;
  totalBytes: number;
}

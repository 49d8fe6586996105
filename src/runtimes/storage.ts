import type { Folder } from './directories/folder.ts';

/** The owner of storage: a network volume, or the persistent storage of one pod. */
export type StorageOwner = { kind: 'volume'; dataCenterId: string; id: string } | { kind: 'pod'; id: string };

/** The size of the storage, and its speed where there is a choice. */
export interface StorageRequest {
  sizeGb: number;
  type: 'STANDARD' | 'HIGH_PERFORMANCE';
}

/** Programs that mount a network volume each and serve its files (docs/decisions/0138-files-of-volumes-on-a-cluster.md). */
export interface FileServerPods {
  /** Null: there can be some. Else why not, as the rest of a sentence. */
  readonly hindrance: string | null;
  /** Finds the one of a volume. Null: there is none, or it has ended. `waits`: why it does not run yet. */
  find(volumeId: string): Promise<{ host: string; port: number } | { waits: string } | null>;
  /** Starts the one of a volume unless there is one. `token`: required of its clients. */
  start(owner: StorageOwner & { kind: 'volume' }, request: StorageRequest, token: string): Promise<void>;
  /** Removes those that have ended. */
  sweep(): Promise<void>;
}

/** Storage of a runtime's workloads that outlives them. */
export interface WorkloadStorage {
  /** Creates or grows the storage as needed. Returns the `source` of its `Mount`. Rejects with a sentence fit for users. */
  ensure(owner: StorageOwner, request: StorageRequest): Promise<string>;
  /** Removes the storage and its contents. Does nothing when it does not exist. Called again after a failure. */
  remove(owner: StorageOwner): Promise<void>;
  /**
   * Creates it as `ensure` does and opens its top directory, to be closed by the caller. Absent where this process cannot see the
   * files.
   */
  openFiles?(owner: StorageOwner, request: StorageRequest): Promise<Folder>;
  /** Programs of ours that serve the files; absent where this process opens them itself. */
  readonly fileServers?: FileServerPods;
  /** Removes what uploads that never ended have left in it. Absent where there are none. */
  sweepUploads?(owner: StorageOwner): Promise<void>;
  /** Bytes in use; null where it cannot be measured. */
  usedBytes(owner: StorageOwner): Promise<number | null>;
}

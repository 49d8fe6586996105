/** What storage belongs to: a network volume, or the persistent storage of one pod. */
export type StorageOwner = { kind: 'volume'; dataCenterId: string; id: string } | { kind: 'pod'; id: string };

/** The size of the storage, and its speed where there is a choice. */
export interface StorageRequest {
  sizeGb: number;
  type: 'STANDARD' | 'HIGH_PERFORMANCE';
}

/** Storage of a runtime's workloads that outlives them. */
export interface WorkloadStorage {
  /** Creates or grows the storage as needed. Returns the `source` of its `Mount`. Rejects with a sentence fit for users. */
  ensure(owner: StorageOwner, request: StorageRequest): Promise<string>;
  /** Removes the storage and its contents. Does nothing when it does not exist. Called again after a failure. */
  remove(owner: StorageOwner): Promise<void>;
  /** Bytes in use; null where it cannot be measured. */
  usedBytes(owner: StorageOwner): Promise<number | null>;
}

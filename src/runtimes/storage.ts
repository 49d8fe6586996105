/** What a piece of storage is for: one network volume, or the persistent storage of one pod. */
export type StorageOwner = { kind: 'volume'; dataCenterId: string; id: string } | { kind: 'pod'; id: string };

/** How much it may hold, and how fast it shall be where there is a choice. */
export interface StorageWish {
  sizeGb: number;
  type: 'STANDARD' | 'HIGH_PERFORMANCE';
}

/** Where a runtime's workloads keep what outlives them. */
export interface WorkloadStorage {
  /** Makes it, or grows it, unless it is as wished; answers what a `Mount` names as its source. Rejects with a sentence fit for users. */
  ensure(owner: StorageOwner, wish: StorageWish): Promise<string>;
  /** Removes it with all that it holds; nothing when it is not there. Called again after a failure. */
  remove(owner: StorageOwner): Promise<void>;
  /** What it holds; null where nobody can tell. */
  usedBytes(owner: StorageOwner): Promise<number | null>;
}

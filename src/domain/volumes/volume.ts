import type { UserId, VolumeId } from '../../core/ids.ts';

export type VolumeType = 'STANDARD' | 'HIGH_PERFORMANCE';

/** Persistent storage in one data centre, for endpoints and pods there. */
export interface Volume {
  id: VolumeId;
  userId: UserId;
  name: string;
  sizeGb: number;
  dataCenterId: string;
  type: VolumeType;
  /** What it holds, as last measured. */
  usedBytes: number;
}

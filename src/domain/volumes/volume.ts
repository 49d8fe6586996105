import type { UserId, VolumeId } from '../../core/ids.ts';

/** Limits of a volume's size, in REST and GraphQL alike. */
export const VOLUME_SIZE_GB = { min: 10, max: 4096 } as const;

export type VolumeType = 'STANDARD' | 'HIGH_PERFORMANCE';

/** Persistent storage in one data center, for endpoints and pods there. */
export interface Volume {
  id: VolumeId;
  userId: UserId;
  name: string;
  sizeGb: number;
  dataCenterId: string;
  type: VolumeType;
  /** Its content, as last measured. */
  usedBytes: number;
}

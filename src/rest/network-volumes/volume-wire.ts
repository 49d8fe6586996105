import type { Static } from 'typebox';
import type { NewVolume } from '../../domain/volumes/change-volume.ts';
import type { Volume } from '../../domain/volumes/volume.ts';
import type {
  CreateNetworkVolumeRequest,
  NetworkVolumeResponse,
  UpdateNetworkVolumeRequest,
} from './volume-schemas.ts';

export function toNewVolume(body: Static<typeof CreateNetworkVolumeRequest>): NewVolume {
  return { name: body.name, sizeGb: body.size, dataCenterId: body.dataCenter, type: body.type ?? null };
}

/** Maps the fields that are present. */
export function toVolumeChange(
  body: Static<typeof UpdateNetworkVolumeRequest>,
): Partial<Pick<Volume, 'name' | 'sizeGb'>> {
  return {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.size === undefined ? {} : { sizeGb: body.size }),
  };
}

export function toVolumeResponse(volume: Volume): Static<typeof NetworkVolumeResponse> {
  return {
    id: volume.id,
    name: volume.name,
    size: volume.sizeGb,
    dataCenter: volume.dataCenterId,
    type: volume.type,
    usedBytes: volume.usedBytes,
  };
}

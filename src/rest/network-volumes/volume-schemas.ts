import { VOLUME_SIZE_GB } from '../../domain/volumes/volume.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { closed, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const name = Type.String({ minLength: 1, description: 'Volume name.' });
const size = Type.Integer({
  minimum: VOLUME_SIZE_GB.min,
  maximum: VOLUME_SIZE_GB.max,
  description: 'Size in GB. It can grow but never shrink.',
});
const dataCenter = Type.String({ description: 'Data center of the volume. Pods and workers that mount it run there.' });
const type = stringEnum(['STANDARD', 'HIGH_PERFORMANCE'], { description: 'Storage tier.' });

const usedBytes = Type.Integer({
  minimum: 0,
  description: 'Podyard only: size of its files, measured about once a minute.',
});

export const CreateNetworkVolumeRequest = closed(
  {
    name,
    size,
    dataCenter,
    type: Type.Optional({ ...type, description: 'Storage tier. Default: the first that the data center offers.' }),
  },
  { $id: 'CreateNetworkVolumeRequest' },
);

export const UpdateNetworkVolumeRequest = closed(
  { name: Type.Optional(name), size: Type.Optional(size) },
  { $id: 'UpdateNetworkVolumeRequest', minProperties: 1, description: 'At least one field is required.' },
);

export const NetworkVolumeResponse = Type.Object(
  { id: Type.String(), name, size, dataCenter, type, usedBytes },
  { $id: 'NetworkVolume', description: 'Persistent storage in one data center.' },
);

export const NetworkVolumeList = Type.Object(
  { networkVolumes: Type.Array(ref(NetworkVolumeResponse)) },
  { $id: 'NetworkVolumeList', description: 'The volumes of the account, oldest first.' },
);

export const NetworkVolumeParams = Type.Object({ id: Type.String({ description: 'Network volume identifier.' }) });

const settings = { name: 'models', size: 100, dataCenter: 'LOCAL-1' };
const volume = { id: 'v5n2b8r0t6y4wq', ...settings, type: 'STANDARD', usedBytes: 0 };

export const VOLUME_SCHEMAS: NamedSchemas = [
  [NetworkVolumeResponse, volume],
  [NetworkVolumeList, { networkVolumes: [volume] }],
  [CreateNetworkVolumeRequest, settings],
  [UpdateNetworkVolumeRequest, { size: 200 }],
];

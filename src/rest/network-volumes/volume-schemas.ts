import { Type } from 'typebox';
import { closed, ref, stringEnum } from '../shared/schema.ts';

const name = Type.String({ minLength: 1, description: 'Volume name.' });
const size = Type.Integer({ minimum: 10, maximum: 4096, description: 'GB. It can grow, never shrink.' });
const dataCenter = Type.String({ description: 'The data center it is in; what mounts it runs there.' });
const type = stringEnum(['STANDARD', 'HIGH_PERFORMANCE'], { description: 'Storage tier.' });

const usedBytes = Type.Integer({
  minimum: 0,
  description: 'Extension of this server: what the files in it take, as measured about once a minute.',
});

export const CreateNetworkVolumeRequest = closed(
  {
    name,
    size,
    dataCenter,
    type: Type.Optional({ ...type, description: 'Storage tier. Absent: the first that the data center offers.' }),
  },
  { $id: 'CreateNetworkVolumeRequest' },
);

export const UpdateNetworkVolumeRequest = closed(
  { name: Type.Optional(name), size: Type.Optional(size) },
  { $id: 'UpdateNetworkVolumeRequest', minProperties: 1, description: 'At least one of the fields.' },
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

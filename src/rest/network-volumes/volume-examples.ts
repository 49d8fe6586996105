import type { Examples } from '../shared/example-values.ts';

const settings = { name: 'models', size: 100, dataCenter: 'LOCAL-1' };
const volume = { id: 'v5n2b8r0t6y4wq', ...settings, type: 'STANDARD', usedBytes: 0 };

export const VOLUME_EXAMPLES: Examples = {
  NetworkVolume: volume,
  NetworkVolumeList: { networkVolumes: [volume] },
  CreateNetworkVolumeRequest: settings,
  UpdateNetworkVolumeRequest: { size: 200 },
};

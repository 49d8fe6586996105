import type { Examples } from '../shared/example-values.ts';

const inDataCenters = [{ id: 'LOCAL-1', name: 'This machine', availability: 'MEDIUM' }];
const gpuType = {
  id: 'NVIDIA GeForce RTX 4090',
  name: 'RTX 4090',
  pool: 'ADA_24',
  manufacturer: 'NVIDIA',
  memory: 24,
  secure: true,
  community: true,
  price: { secure: 0.69, community: 0.34, serverless: 0.69 },
  maxCount: { secure: 8, community: 8 },
  availability: 'MEDIUM',
  dataCenters: inDataCenters,
  cudaVersions: [{ version: '12.8', available: true }],
};
const cpuFlavor = {
  id: 'cpu3c',
  name: 'Compute-Optimized (3rd generation)',
  group: '3rd generation',
  vcpu: { min: 2, max: 32 },
  ramGbPerVcpu: 2,
  price: { securePerVcpu: 0.03, serverlessPerVcpu: 0.036 },
  availability: 'MEDIUM',
  dataCenters: inDataCenters,
};
const dataCenter = {
  id: 'LOCAL-1',
  name: 'This machine',
  region: 'UNKNOWN',
  globalNetwork: true,
  networkVolumeTypes: ['STANDARD'],
  compliance: [],
  gpuAvailability: [{ id: gpuType.id, name: gpuType.name, availability: 'MEDIUM' }],
  cpuAvailability: [{ id: cpuFlavor.id, name: cpuFlavor.name, availability: 'MEDIUM' }],
};

export const CATALOG_EXAMPLES: Examples = {
  GpuType: gpuType,
  GpuCapacity: { gpus: [{ id: 'NVIDIA GeForce RTX 4090', name: 'RTX 4090', pool: 'ADA_24', total: 8, free: 3 }] },
  GpuTypeList: { gpus: [gpuType] },
  CpuFlavor: cpuFlavor,
  CpuFlavorList: { cpus: [cpuFlavor] },
  DataCenter: dataCenter,
  DataCenterList: { dataCenters: [dataCenter] },
};

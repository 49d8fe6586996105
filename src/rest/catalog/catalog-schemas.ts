import type { Static } from 'typebox';
import { AVAILABILITIES } from '../../domain/catalog/availability.ts';
import { COMPLIANCE, REGIONS, VOLUME_TYPES } from '../../domain/catalog/catalog.ts';
import { TEMPLATE_SOURCES } from '../../domain/templates/template.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import type { LeastVcpus } from '../shared/least-vcpus.ts';
import { commaList, MAX_INTEGER, patternList, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const price = (description: string) => Type.Number({ minimum: 0, description });
const count = Type.Integer({ minimum: 0 });
const level = stringEnum(AVAILABILITIES);
const availability = Type.Optional({
  ...level,
  description: 'How many more are free: none, one, two or three, or more. Only with `include`.',
});
const available = Type.Array(Type.Object({ id: Type.String(), name: Type.String(), availability: level }));
const dataCenters = Type.Optional({
  ...available,
  description: 'Data centers that have it. Only with `include`.',
});
const includeAvailability = Type.Optional(stringEnum(['AVAILABILITY'], { description: 'Adds current availability.' }));

export const GpuTypeResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    pool: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'GPU pool, as in `gpu.pools` of an endpoint. Null: for pods only.',
    }),
    manufacturer: stringEnum(['NVIDIA', 'AMD', 'UNKNOWN']),
    memory: Type.Number({ description: 'GB.' }),
    secure: Type.Boolean(),
    community: Type.Boolean(),
    price: Type.Object(
      {
        secure: price('Where not offered, that of the other cloud.'),
        community: price('Where not offered, that of the other cloud.'),
        serverless: Type.Optional(price('Of a worker. Absent without a pool.')),
      },
      { description: 'USD per GPU and hour. `secure` and `community` next to it say what is offered.' },
    ),
    maxCount: Type.Object({ secure: count, community: count }),
    availability,
    dataCenters,
    cudaVersions: Type.Optional(
      Type.Array(Type.Object({ version: Type.String(), available: Type.Boolean() }), {
        description:
          'CUDA versions of the machines that have it, newest first; `available`: one has a free GPU. Only with `include`.',
      }),
    ),
  },
  { $id: 'GpuType' },
);

export const GpuTypeList = Type.Object({ gpus: Type.Array(ref(GpuTypeResponse)) }, { $id: 'GpuTypeList' });

export const GpuCapacity = Type.Object(
  {
    gpus: Type.Array(
      Type.Object({ id: Type.String(), name: Type.String(), pool: Type.String(), total: count, free: count }),
      { description: 'Only types of which a GPU is here.' },
    ),
  },
  { $id: 'GpuCapacity', description: 'Podyard only: the GPUs of this installation, and how many are free now.' },
);

const gpuFilters = (minCudaVersion: string) => ({
  include: includeAvailability,
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_INTEGER, default: 1, description: 'GPUs needed together on one machine.' }),
  ),
  cloud: Type.Optional(stringEnum(['SECURE', 'COMMUNITY'])),
  minCudaVersion: Type.Optional(
    Type.String({ pattern: minCudaVersion, description: 'Minimum CUDA version, e.g. `12.8`.' }),
  ),
  cudaVersions: Type.Optional(
    patternList(
      '[0-9]{1,3}([.][0-9]{1,3}){0,2}',
      'Exactly these CUDA versions, separated by commas; not with `minCudaVersion`.',
    ),
  ),
  countryCodes: Type.Optional(
    patternList('[A-Z]{2}', 'In data centers of these countries, separated by commas: `DE,FR`.'),
  ),
});

const gpuProduct = Type.Optional(
  commaList(['POD', 'CLUSTER', 'SERVERLESS'], 'Types available to any of these products, separated by commas.'),
);

/** `hasProduct`: whether the query of a single type has `product` too. */
export function gpuTypeQueries(minCudaVersion: string, hasProduct: boolean) {
  const filters = gpuFilters(minCudaVersion);
  const list = Type.Object({ ...filters, product: gpuProduct });
  return { one: hasProduct ? list : Type.Object(filters), list };
}

export type GpuTypeQuery = Static<ReturnType<typeof gpuTypeQueries>['list']>;

export const CpuFlavorResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    group: Type.String(),
    vcpu: Type.Object({ min: Type.Integer(), max: Type.Integer() }),
    ramGbPerVcpu: Type.Number(),
    price: Type.Object(
      { securePerVcpu: Type.Number(), serverlessPerVcpu: Type.Number() },
      { description: 'USD per vCPU and hour.' },
    ),
    availability,
    dataCenters,
  },
  { $id: 'CpuFlavor' },
);

export const CpuFlavorList = Type.Object({ cpus: Type.Array(ref(CpuFlavorResponse)) }, { $id: 'CpuFlavorList' });

const cpuFilters = (leastVcpus: LeastVcpus) => ({
  include: includeAvailability,
  vcpuCount: Type.Optional(
    Type.Integer({
      minimum: leastVcpus,
      maximum: MAX_INTEGER,
      description: 'vCPUs needed. Default: the flavor’s minimum.',
    }),
  ),
});

const cpuProduct = Type.Optional(
  commaList(['POD', 'SERVERLESS'], 'Flavors available to any of these products, separated by commas.'),
);

/** `hasProduct`: whether the query of a single flavor has `product` too. */
export function cpuFlavorQueries(hasProduct: boolean, leastVcpus: LeastVcpus) {
  const filters = cpuFilters(leastVcpus);
  const list = Type.Object({ ...filters, product: cpuProduct });
  return { one: hasProduct ? list : Type.Object(filters), list };
}

export type CpuFlavorQuery = Static<ReturnType<typeof cpuFlavorQueries>['list']>;

export const DataCenterResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    region: stringEnum(REGIONS),
    globalNetwork: Type.Boolean(),
    networkVolumeTypes: Type.Array(stringEnum(VOLUME_TYPES), {
      description: 'Storage tiers; the first is the default of a new volume.',
    }),
    compliance: Type.Array(stringEnum(COMPLIANCE)),
    gpuAvailability: Type.Optional({ ...available, description: 'GPU types that it has. Only with `include`.' }),
    cpuAvailability: Type.Optional({ ...available, description: 'CPU flavors that it has. Only with `include`.' }),
  },
  { $id: 'DataCenter' },
);

export const DataCenterList = Type.Object(
  { dataCenters: Type.Array(ref(DataCenterResponse)) },
  { $id: 'DataCenterList' },
);

const dataCenterInclude = Type.Optional(
  commaList(['GPU_AVAILABILITY', 'CPU_AVAILABILITY'], 'Adds current availability; values separated by commas.'),
);

export const DataCenterQuery = Type.Object({ include: dataCenterInclude });
export const DataCenterListQuery = Type.Object({
  include: dataCenterInclude,
  regions: Type.Optional(commaList(REGIONS, 'In any of these regions, separated by commas.')),
  networkVolumeTypes: Type.Optional(commaList(VOLUME_TYPES, 'With all of these tiers, separated by commas.')),
  compliance: Type.Optional(commaList(COMPLIANCE, 'With all of these certifications, separated by commas.')),
  globalNetwork: Type.Optional(Type.Boolean()),
});

export const MAX_TEMPLATES = 100;

export const PublicTemplateQuery = Type.Object({
  source: Type.Optional(
    commaList(
      TEMPLATE_SOURCES,
      `Of these sources, separated by commas; absent: of all. \`official\`: the installation’s own; \`verified\`: its operator looked at them; \`community\`: published by any user. At most ${MAX_TEMPLATES} are listed.`,
    ),
  ),
});

/** Ids of GPU types contain spaces. */
export const CatalogParams = Type.Object({
  id: Type.String({ description: 'Identifier as listed, percent-encoded.' }),
});

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

export const CATALOG_SCHEMAS: NamedSchemas = [
  [GpuTypeResponse, gpuType],
  [GpuCapacity, { gpus: [{ id: 'NVIDIA GeForce RTX 4090', name: 'RTX 4090', pool: 'ADA_24', total: 8, free: 3 }] }],
  [GpuTypeList, { gpus: [gpuType] }],
  [CpuFlavorResponse, cpuFlavor],
  [CpuFlavorList, { cpus: [cpuFlavor] }],
  [DataCenterResponse, dataCenter],
  [DataCenterList, { dataCenters: [dataCenter] }],
];

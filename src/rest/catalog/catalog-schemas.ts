import { Type } from 'typebox';
import { AVAILABILITIES } from '../../domain/catalog/availability.ts';
import { COMPLIANCE, REGIONS, VOLUME_TYPES } from '../../domain/catalog/catalog.ts';
import { MAX_INTEGER, ref, stringEnum } from '../shared/schema.ts';

/** Items of an enumeration, separated by commas, as queries carry them. */
function commaList(values: readonly string[], description: string) {
  const item = `(${values.join('|')})`;
  return Type.String({ pattern: `^${item}(,${item})*$`, description });
}

const price = (description: string) => Type.Unsafe<number | null>({ type: ['number', 'null'], description });
const count = Type.Integer({ minimum: 0 });
const level = stringEnum(AVAILABILITIES);
const availability = Type.Optional({
  ...level,
  description: 'How much more can be had: nothing, one, two or three, more. Only with `include`.',
});
const available = Type.Array(Type.Object({ id: Type.String(), name: Type.String(), availability: level }));
const dataCenters = Type.Optional({
  ...available,
  description: 'The data centers that have it at all. Only with `include`.',
});
const includeAvailability = Type.Optional(stringEnum(['AVAILABILITY'], { description: 'Adds what is free now.' }));

export const GpuTypeResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    pool: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'What an endpoint names in `gpu.pools`; null: for pods only.',
    }),
    manufacturer: stringEnum(['NVIDIA', 'AMD', 'UNKNOWN']),
    memory: Type.Number({ description: 'GB.' }),
    secure: Type.Boolean(),
    community: Type.Boolean(),
    price: Type.Object(
      { secure: price('Null: not offered.'), community: price('Null: not offered.') },
      { description: 'USD per GPU and hour.' },
    ),
    maxCount: Type.Object({ secure: count, community: count }),
    availability,
    dataCenters,
  },
  { $id: 'GpuType' },
);

export const GpuTypeList = Type.Object({ gpus: Type.Array(ref(GpuTypeResponse)) }, { $id: 'GpuTypeList' });

const gpuFilters = {
  include: includeAvailability,
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_INTEGER, default: 1, description: 'So many together on one machine.' }),
  ),
  cloud: Type.Optional(stringEnum(['SECURE', 'COMMUNITY'])),
  minCudaVersion: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,3}([.][0-9]{1,3}){0,2}$', description: 'The least CUDA version, e.g. `12.8`.' }),
  ),
};

export const GpuTypeQuery = Type.Object(gpuFilters);
export const GpuTypeListQuery = Type.Object({
  ...gpuFilters,
  product: Type.Optional(
    commaList(['POD', 'CLUSTER', 'SERVERLESS'], 'Those that one of these can have. There are no clusters here.'),
  ),
});

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

const cpuFilters = {
  include: includeAvailability,
  vcpuCount: Type.Optional(
    Type.Integer({ minimum: 2, maximum: MAX_INTEGER, description: 'Absent: the least that the flavor has.' }),
  ),
};

export const CpuFlavorQuery = Type.Object(cpuFilters);
export const CpuFlavorListQuery = Type.Object({
  ...cpuFilters,
  product: Type.Optional(commaList(['POD', 'SERVERLESS'], 'Those that one of these can have.')),
});

export const DataCenterResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    region: stringEnum(REGIONS),
    globalNetwork: Type.Boolean(),
    networkVolumeTypes: Type.Array(stringEnum(VOLUME_TYPES), {
      description: 'The first one is what a volume gets that names none.',
    }),
    compliance: Type.Array(stringEnum(COMPLIANCE)),
    gpuAvailability: Type.Optional({ ...available, description: 'The types it has at all. Only with `include`.' }),
    cpuAvailability: Type.Optional({ ...available, description: 'The flavors it has at all. Only with `include`.' }),
  },
  { $id: 'DataCenter' },
);

export const DataCenterList = Type.Object(
  { dataCenters: Type.Array(ref(DataCenterResponse)) },
  { $id: 'DataCenterList' },
);

const dataCenterInclude = Type.Optional(
  commaList(['GPU_AVAILABILITY', 'CPU_AVAILABILITY'], 'Adds what is free now, separated by commas.'),
);

export const DataCenterQuery = Type.Object({ include: dataCenterInclude });
export const DataCenterListQuery = Type.Object({
  include: dataCenterInclude,
  regions: Type.Optional(commaList(REGIONS, 'In any of these, separated by commas.')),
  networkVolumeTypes: Type.Optional(commaList(VOLUME_TYPES, 'With all of these, separated by commas.')),
  compliance: Type.Optional(commaList(COMPLIANCE, 'With all of these, separated by commas.')),
  globalNetwork: Type.Optional(Type.Boolean()),
});

/** Ids of GPU types hold blanks; they are taken as they are. */
export const CatalogParams = Type.Object({ id: Type.String({ description: 'As listed; percent-encoded.' }) });

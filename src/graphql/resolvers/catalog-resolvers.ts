import { type Availability, cpuAvailability, gpuAvailability, listGpusIn } from '../../domain/catalog/availability.ts';
import type { Stock } from '../../domain/catalog/capacity-source.ts';
import {
  type CpuFlavor,
  cpuFlavors,
  type DataCenter,
  dataCenters,
  type GpuType,
  gpuPools,
  gpuTypes,
  gpuTypesOfPool,
} from '../../domain/catalog/catalog.ts';
import type { GraphqlCall, Resolvers } from '../graphql-call.ts';
import { readNumber } from '../inputs.ts';

/** The catalog is public: it needs no key and no permission. */
export const catalogResolvers: Resolvers = {
  Query: {
    gpuTypes: (_: unknown, { input }: { input?: { id?: string | null; ids?: (string | null)[] | null } | null }) =>
      gpuTypes()
        .filter(({ id }) => (input?.id ?? id) === id && (input?.ids?.includes(id) ?? true))
        .map(toGpuType),
    cpuFlavors: (_: unknown, { input }: { input?: { id?: string | null } | null }) =>
      cpuFlavors()
        .filter(({ id }) => (input?.id ?? id) === id)
        .map(toCpuFlavor),
    dataCenters: () => dataCenters().map(toDataCenter),
    serverlessGpuPools: () => gpuPools().map((id) => ({ id, gpuTypeIds: gpuTypesOfPool(id).map((gpu) => gpu.id) })),
  },
  GpuType: {
    lowestPrice: async ({ gpu }: { gpu: GpuType }, { input }: { input?: LowestPriceInput | null }, call) =>
      toLowestPrice(gpu, input ?? {}, await readStock(call)),
  },
  CpuFlavor: {
    stockStatus: async ({ flavor }: { flavor: CpuFlavor }, _: unknown, call) =>
      STOCK_STATUS[cpuAvailability(flavor, await readStock(call), null).availability],
  },
  DataCenter: {
    gpuAvailability: async ({ id }: { id: string }, _: unknown, call) =>
      listGpusIn(id, await readStock(call)).map(({ id: gpuTypeId, name, availability }) => ({
        gpuTypeId,
        displayName: name,
        available: availability !== 'NONE',
        stockStatus: STOCK_STATUS[availability],
      })),
  },
};

const STOCK_STATUS: Record<Availability, string> = { HIGH: 'High', MEDIUM: 'Medium', LOW: 'Low', NONE: 'None' };

function readStock(call: GraphqlCall): Promise<Stock> {
  return call.share('stock', () => call.deps.capacity.read());
}

/** Reservations and spot instances are not offered here: their prices are null. */
function toGpuType(gpu: GpuType) {
  return {
    gpu,
    id: gpu.id,
    displayName: gpu.name,
    manufacturer: gpu.manufacturer,
    memoryInGb: gpu.memory,
    secureCloud: gpu.secure,
    communityCloud: gpu.community,
    securePrice: gpu.price.secure,
    communityPrice: gpu.price.community,
    maxGpuCount: Math.max(gpu.maxCount.secure, gpu.maxCount.community),
    maxGpuCountSecureCloud: gpu.maxCount.secure,
    maxGpuCountCommunityCloud: gpu.maxCount.community,
  };
}

interface LowestPriceInput {
  gpuCount?: number | null;
  secureCloud?: boolean | null;
  dataCenterId?: string | null;
  minCudaVersion?: string | null;
}

/** Returns the cheapest of the requested clouds that offer enough GPUs; no price if none does. Other machine requirements are ignored. */
function toLowestPrice(gpu: GpuType, input: LowestPriceInput, stock: Stock) {
  const count = readNumber(input.gpuCount, 'gpuCount', { min: 1, fallback: 1 });
  const clouds = (['secure', 'community'] as const).filter(
    (cloud) => (input.secureCloud ?? cloud === 'secure') === (cloud === 'secure') && gpu.maxCount[cloud] >= count,
  );
  const prices = clouds.flatMap((cloud) => gpu.price[cloud] ?? []);
  const { dataCenterId } = input;
  const local = dataCenterId
    ? { ...stock, gpus: stock.gpus.filter((one) => one.dataCenterId === dataCenterId) }
    : stock;
  const wish = { count, cloud: null, cuda: input.minCudaVersion ? { min: input.minCudaVersion } : {} };
  return {
    gpuName: gpu.name,
    gpuTypeId: gpu.id,
    uninterruptablePrice: prices.length === 0 ? null : Math.min(...prices),
    stockStatus: prices.length === 0 ? 'None' : STOCK_STATUS[gpuAvailability(gpu, local, wish).availability],
  };
}

function toCpuFlavor(flavor: CpuFlavor) {
  return {
    flavor,
    id: flavor.id,
    groupId: flavor.group,
    displayName: flavor.name,
    minVcpu: flavor.vcpu.min,
    maxVcpu: flavor.vcpu.max,
    ramMultiplier: flavor.ramGbPerVcpu,
    securePrice: flavor.price.securePerVcpu,
    serverlessPrice: flavor.price.serverlessPerVcpu,
  };
}

export function toDataCenter(dataCenter: DataCenter) {
  return {
    id: dataCenter.id,
    name: dataCenter.name,
    location: dataCenter.region,
    globalNetwork: dataCenter.globalNetwork,
    storageSupport: dataCenter.networkVolumeTypes.length > 0,
    compliance: dataCenter.compliance,
  };
}

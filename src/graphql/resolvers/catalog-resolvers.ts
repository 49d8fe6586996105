import { cpuAvailability, type GpuRequest, listGpusIn } from '../../domain/catalog/availability.ts';
import type { GpuStock, Stock } from '../../domain/catalog/capacity-source.ts';
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
import {
  type CudaFilter,
  cudaFilter,
  gpusByDataCenter,
  readCudaRule,
  readGpuCount,
  STOCK_STATUS,
  type StockInput,
  toLowestPrice,
} from '../lowest-price.ts';
import { readInstanceId } from '../pod-wire.ts';

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
    countryCodes: () => [],
    listings: () => [],
    myModels: () => [],
    models: () => [],
    myModel: () => null,
    cpuTypes: () => [],
    listing: () => null,
    listingFromRepo: () => null,
    allAiApiPublicConfigs: () => [],
    serverlessGpuPools: () => gpuPools().map((id) => ({ id, gpuTypeIds: gpuTypesOfPool(id).map((gpu) => gpu.id) })),
  },
  GpuType: {
    lowestPrice: async ({ gpu }: { gpu: GpuType }, { input }: { input?: StockInput | null }, call) => {
      const wanted = input ?? {};
      const [stock, byType, canUse] = await Promise.all([
        readStock(call),
        call.share('GPUs by type', () => gpusByType(call)),
        shareCudaFilter(call, wanted),
      ]);
      return toLowestPrice(gpu, wanted, stock, { entries: byType.get(gpu.id) ?? [], canUse });
    },
  },
  CpuFlavor: {
    stockStatus: async ({ flavor }: { flavor: CpuFlavor }, _: unknown, call) =>
      STOCK_STATUS[cpuAvailability(flavor, await readStock(call), null).availability],
    specifics: async ({ flavor }: { flavor: CpuFlavor }, { input }: { input?: SpecificsInput | null }, call) =>
      toSpecifics(flavor, input ?? {}, await readStock(call)),
  },
  DataCenter: {
    gpuAvailability: async ({ id }: { id: string }, { input }: { input?: StockInput | null }, call) => {
      const wanted = input ?? {};
      const wish = { count: readGpuCount(wanted), cloud: cloudOf(wanted.secureCloud), cuda: {} };
      const stock = await readStock(call);
      const canUse = await shareCudaFilter(call, wanted);
      const gpus = await call.share(`GPUs by data center ${JSON.stringify(readCudaRule(wanted))}`, async () =>
        gpusByDataCenter(stock, canUse),
      );
      const found = listGpusIn(id, { ...stock, gpus: gpus.get(id) ?? [] }, wish);
      return call.count(found).map(({ id: gpuTypeId, name, availability }) => ({
        id: gpuTypeId,
        gpuTypeId,
        gpuTypeDisplayName: name,
        displayName: name,
        available: availability !== 'NONE',
        stockStatus: STOCK_STATUS[availability],
      }));
    },
  },
};

function cloudOf(isSecure: boolean | null | undefined): GpuRequest['cloud'] {
  if (isSecure === undefined || isSecure === null) return null;
  return isSecure ? 'SECURE' : 'COMMUNITY';
}

function readStock(call: GraphqlCall): Promise<Stock> {
  return call.share('stock', () => call.deps.capacity.read());
}

/** A document may ask with the same rule for every type and data center, many times. */
async function shareCudaFilter(call: GraphqlCall, input: StockInput): Promise<CudaFilter> {
  const rule = readCudaRule(input);
  return call.share(`CUDA ${JSON.stringify(rule)}`, async () => cudaFilter(rule));
}

async function gpusByType(call: GraphqlCall): Promise<Map<string, GpuStock[]>> {
  return Map.groupBy((await readStock(call)).gpus, ({ gpuTypeId }) => gpuTypeId);
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
    minPodGpuCount: 1,
  };
}

interface SpecificsInput {
  instanceId?: string | null;
  dataCenterId?: string | null;
}

/** Null for an instance of another flavor. */
function toSpecifics(flavor: CpuFlavor, { instanceId, dataCenterId }: SpecificsInput, stock: Stock) {
  const instance = instanceId ? readInstanceId(instanceId) : { id: flavor.id, vcpuCount: flavor.vcpu.min };
  if (instance.id !== flavor.id) return null;
  const { availability, dataCenters } = cpuAvailability(flavor, stock, instance.vcpuCount);
  const here = dataCenters.find(({ id }) => id === dataCenterId)?.availability ?? 'NONE';
  return {
    stockStatus: STOCK_STATUS[dataCenterId ? here : availability],
    securePrice: toUsd(flavor.price.securePerVcpu * instance.vcpuCount),
    slsPrice: toUsd(flavor.price.serverlessPerVcpu * instance.vcpuCount),
  };
}

/** Rounds 4 × 0.034 = 0.13600000000000001. */
function toUsd(price: number): number {
  return Number(price.toFixed(6));
}

function toCpuFlavor(flavor: CpuFlavor) {
  return {
    flavor,
    id: flavor.id,
    groupId: flavor.group,
    groupName: flavor.group,
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
    listed: true,
    storageSupport: dataCenter.networkVolumeTypes.length > 0,
    compliance: dataCenter.compliance,
  };
}

import { cpuAvailability } from '../../domain/catalog/availability.ts';
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
import { Offers, STOCK_STATUS, type StockInput } from '../offers.ts';
import { readInstanceId } from '../pod-wire.ts';

/** The catalog is public: it needs no key and no permission. */
export const catalogResolvers: Resolvers = {
  Query: {
    gpuTypes: (
      _: unknown,
      { input }: { input?: { id?: string | null; ids?: (string | null)[] | null } | null },
      call,
    ) =>
      call.list(
        gpuTypes().filter(({ id }) => (input?.id ?? id) === id && (input?.ids?.includes(id) ?? true)),
        toGpuType,
      ),
    cpuFlavors: (_: unknown, { input }: { input?: { id?: string | null } | null }, call) =>
      call.list(
        cpuFlavors().filter(({ id }) => (input?.id ?? id) === id),
        toCpuFlavor,
      ),
    dataCenters: (_: unknown, __: unknown, call) => call.list(dataCenters(), toDataCenter),
    countryCodes: () => [],
    listings: () => [],
    myModels: () => [],
    models: () => [],
    myModel: () => null,
    cpuTypes: () => [],
    listing: () => null,
    listingFromRepo: () => null,
    allAiApiPublicConfigs: () => [],
    serverlessGpuPools: (_: unknown, __: unknown, call) =>
      call.list(gpuPools(), (id) => ({ id, gpuTypeIds: gpuTypesOfPool(id).map((gpu) => gpu.id) })),
  },
  GpuType: {
    lowestPrice: ({ gpu }: { gpu: GpuType }, { input }: { input?: StockInput | null }, call) =>
      withOffers(call, (offers) => offers.lowestPrice(gpu, input ?? {})),
  },
  CpuFlavor: {
    stockStatus: ({ flavor }: { flavor: CpuFlavor }, _: unknown, call) =>
      withOffers(call, ({ stock }) => STOCK_STATUS[cpuAvailability(flavor, stock, null).availability]),
    specifics: ({ flavor }: { flavor: CpuFlavor }, { input }: { input?: SpecificsInput | null }, call) =>
      withOffers(call, ({ stock }) => toSpecifics(flavor, input ?? {}, stock)),
  },
  DataCenter: {
    gpuAvailability: ({ id }: { id: string }, { input }: { input?: StockInput | null }, call) =>
      withOffers(call, (offers) => call.list(offers.gpusIn(id, input ?? {}), (gpu) => gpu)),
  },
};

/** Calls `use` with what the catalog offers now, which is read once per query. */
function withOffers<T>(call: GraphqlCall, use: (offers: Offers) => T): T | Promise<T> {
  const offers = call.share('offers', async () => new Offers(await call.deps.capacity.read()));
  return offers instanceof Promise ? offers.then(use) : use(offers);
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

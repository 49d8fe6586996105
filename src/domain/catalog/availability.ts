import type { CpuPlace } from '../../scaling/cpu-slots.ts';
import { type CudaRule, fitsCuda, isOlderCuda } from '../../scaling/cuda-version.ts';
import type { GpuStock, Stock } from './capacity-source.ts';
import { type CpuFlavor, cpuFlavors, findDataCenter, type GpuType, gpuTypes, LOCAL_DATA_CENTER } from './catalog.ts';

/** How much more of something can be had (docs/interface/rest.md, "Catalog"). */
export const AVAILABILITIES = ['NONE', 'LOW', 'MEDIUM', 'HIGH'] as const;
export type Availability = (typeof AVAILABILITIES)[number];

export interface Available {
  id: string;
  name: string;
  availability: Availability;
}

/** Wanted GPUs: `count` of them on one machine. Null: any. */
export interface GpuRequest {
  count: number;
  cloud: 'SECURE' | 'COMMUNITY' | null;
  cuda: CudaRule;
}

export const ANY_GPU: GpuRequest = { count: 1, cloud: null, cuda: {} };

const GIB = 2 ** 30;

/** Maps how many more workloads of the wanted size fit to a level: none, one, up to three, more. */
function levelOf(fits: number): Availability {
  if (fits <= 0) return 'NONE';
  if (fits === 1) return 'LOW';
  return fits <= 3 ? 'MEDIUM' : 'HIGH';
}

/** Returns a GPU type's availability in total, and in each data center that has it. */
export function gpuAvailability(
  gpu: GpuType,
  stock: Stock,
  request: GpuRequest,
): { availability: Availability; dataCenters: Available[] } {
  const fits = new Map<string, number>();
  for (const entry of stock.gpus) {
    if (entry.gpuTypeId !== gpu.id || entry.total === 0) continue;
    fits.set(entry.dataCenterId, (fits.get(entry.dataCenterId) ?? 0) + countFits(gpu, entry, request));
  }
  const dataCenters = [...fits].map(([id, count]) => ({ ...nameDataCenter(id), availability: levelOf(count) }));
  return { availability: levelOf([...fits.values()].reduce((sum, count) => sum + count, 0)), dataCenters };
}

/** Returns how many more workloads of the wanted size fit into this entry. */
export function countFits(gpu: GpuType, entry: GpuStock, { count, cloud, cuda }: GpuRequest): number {
  if (cloud !== null && count > maxCountIn(gpu, cloud)) return 0;
  if (!fitsCuda(entry.cudaVersion, cuda)) return 0;
  return Math.floor(entry.free / count);
}

/** A CUDA version that machines with a GPU type support. */
export interface CudaOffer {
  version: string;
  /** One of them has a free GPU. */
  available: boolean;
}

/** Returns the known CUDA versions of the machines that have the type, newest first. */
export function listCudaVersions(gpu: GpuType, stock: Stock): CudaOffer[] {
  const offers = new Map<string, boolean>();
  for (const { gpuTypeId, cudaVersion, total, free } of stock.gpus) {
    if (gpuTypeId !== gpu.id || cudaVersion === undefined || total === 0) continue;
    offers.set(cudaVersion, (offers.get(cudaVersion) ?? false) || free > 0);
  }
  return [...offers]
    .map(([version, available]) => ({ version, available }))
    .sort((a, b) => (isOlderCuda(a.version, b.version) ? 1 : -1));
}

/** Returns what of the stock is in data centers of these countries. */
export function stockIn(stock: Stock, countryCodes: readonly string[]): Stock {
  const isThere = (id: string) => countryCodes.includes(findDataCenter(id)?.countryCode ?? '');
  return { ...stock, gpus: stock.gpus.filter(({ dataCenterId }) => isThere(dataCenterId)) };
}

function maxCountIn(gpu: GpuType, cloud: 'SECURE' | 'COMMUNITY'): number {
  if (cloud === 'SECURE') return gpu.secure ? gpu.maxCount.secure : 0;
  return gpu.community ? gpu.maxCount.community : 0;
}

/** Returns the machines by data center. */
export function cpuPlacesOf({
  places,
  cpus,
  memoryBytes,
}: Pick<Stock, 'places' | 'cpus' | 'memoryBytes'>): readonly CpuPlace[] {
  return places ?? [{ dataCenterId: LOCAL_DATA_CENTER, cpus, memoryBytes }];
}

/** Returns a CPU flavor's availability in total, and in each data center. `vcpuCount` null: the flavor's smallest. */
export function cpuAvailability(
  flavor: CpuFlavor,
  stock: Stock,
  vcpuCount: number | null,
): { availability: Availability; dataCenters: Available[] } {
  const vcpus = vcpuCount ?? flavor.vcpu.min;
  const isOffered = vcpus >= flavor.vcpu.min && vcpus <= flavor.vcpu.max && Number.isInteger(Math.log2(vcpus));
  const fits = cpuPlacesOf(stock).map(({ dataCenterId, cpus, memoryBytes }) => {
    const byMemory = memoryBytes / (vcpus * flavor.ramGbPerVcpu * GIB);
    return { dataCenterId, count: isOffered ? Math.floor(Math.min(cpus / vcpus, byMemory)) : 0 };
  });
  return {
    availability: levelOf(fits.reduce((sum, { count }) => sum + count, 0)),
    dataCenters: fits.map(({ dataCenterId: id, count }) => ({ ...nameDataCenter(id), availability: levelOf(count) })),
  };
}

/** Returns the GPU types that a data center has, free or not, and how many of the wanted size are free. */
export function listGpusIn(dataCenterId: string, stock: Stock, request: GpuRequest = ANY_GPU): Available[] {
  const local = {
    ...stock,
    gpus: stock.gpus.filter((entry) => entry.dataCenterId === dataCenterId && entry.total > 0),
  };
  const present = new Set(local.gpus.map((entry) => entry.gpuTypeId));
  return gpuTypes()
    .filter(({ id }) => present.has(id))
    .map((gpu) => ({ id: gpu.id, name: gpu.name, availability: gpuAvailability(gpu, local, request).availability }));
}

/** Returns the CPU flavors that a data center has. `leastVcpus`: the fewest vCPUs that can be requested. */
export function listCpusIn(dataCenterId: string, stock: Stock, leastVcpus = 1): Available[] {
  const places = cpuPlacesOf(stock).filter((place) => place.dataCenterId === dataCenterId);
  if (places.length === 0) return [];
  return cpuFlavors().map((flavor) => {
    const vcpus = Math.max(flavor.vcpu.min, leastVcpus);
    const { availability } = cpuAvailability(flavor, { ...stock, places }, vcpus);
    return { id: flavor.id, name: flavor.name, availability };
  });
}

function nameDataCenter(id: string): { id: string; name: string } {
  return { id, name: findDataCenter(id)?.name ?? id };
}

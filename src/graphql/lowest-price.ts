import { Failure } from '../core/errors.ts';
import { type Availability, countFits, type GpuRequest, gpuAvailability } from '../domain/catalog/availability.ts';
import type { GpuStock, Stock } from '../domain/catalog/capacity-source.ts';
import { findDataCenter, type GpuType } from '../domain/catalog/catalog.ts';
import { type CudaRule, fitsCuda, isOlderCuda } from '../domain/catalog/cuda-version.ts';
import { MAX_CUDA_VERSIONS } from '../domain/endpoints/gpu-rule.ts';
import { readList, readNumber } from './inputs.ts';

export const STOCK_STATUS: Record<Availability, string> = { HIGH: 'High', MEDIUM: 'Medium', LOW: 'Low', NONE: 'None' };

/** What clients require of a machine with GPUs. Any field may be null. */
export interface StockInput {
  gpuCount?: number | null;
  secureCloud?: boolean | null;
  dataCenterId?: string | null;
  minCudaVersion?: string | null;
  allowedCudaVersions?: (string | null)[] | null;
  compliance?: (string | null)[] | null;
}

/** True for the CUDA version of a driver that the client can use. Remembers its answers: machines have few versions. */
export type CudaFilter = (version: string | undefined) => boolean;

export function cudaFilter(rule: CudaRule): CudaFilter {
  const known = new Map<string | undefined, boolean>();
  return (version) => {
    let fits = known.get(version);
    if (fits === undefined) {
      fits = fitsCuda(version, rule);
      known.set(version, fits);
    }
    return fits;
  };
}

/**
 * Maps to the type LowestPrice: the cheapest of the requested clouds that offer enough GPUs; no price if none does.
 * `entries`: the stock of this type alone, since a document may ask for each type many times.
 */
export function toLowestPrice(
  gpu: GpuType,
  input: StockInput,
  stock: Stock,
  { entries, canUse }: { entries: readonly GpuStock[]; canUse: CudaFilter },
) {
  const count = readGpuCount(input);
  const clouds = (['secure', 'community'] as const).filter(
    (cloud) => (input.secureCloud ?? cloud === 'secure') === (cloud === 'secure') && gpu.maxCount[cloud] >= count,
  );
  const prices = clouds.flatMap((cloud) => gpu.price[cloud] ?? []);
  const wish: GpuRequest = { count, cloud: null, cuda: {} };
  const isWanted = placeFilter(input);
  const here = entries.filter((entry) => entry.total > 0 && isWanted(entry.dataCenterId));
  const fitting = here.filter((entry) => canUse(entry.cudaVersion));
  const isOffered = prices.length > 0;
  return {
    gpuName: gpu.name,
    gpuTypeId: gpu.id,
    uninterruptablePrice: isOffered ? Math.min(...prices) : null,
    stockStatus: () =>
      STOCK_STATUS[isOffered ? gpuAvailability(gpu, { ...stock, gpus: fitting }, wish).availability : 'NONE'],
    ...gpuCounts(gpu, isOffered ? fitting : []),
    gpuTypeCudaVersions: () => cudaVersions(gpu, here, wish),
    compliance: input.compliance?.flatMap((one) => one ?? []) ?? [],
  };
}

/** Returns the GPUs whose driver the client can use, by data center. */
export function gpusByDataCenter({ gpus }: Stock, canUse: CudaFilter): Map<string, GpuStock[]> {
  const usable = gpus.filter(({ cudaVersion }) => canUse(cudaVersion));
  return Map.groupBy(usable, ({ dataCenterId }) => dataCenterId);
}

export function readGpuCount({ gpuCount }: StockInput): number {
  return readNumber(gpuCount, 'gpuCount', { min: 1, fallback: 1 });
}

/** Throws `badRequest` for a list that takes long to compare with. */
export function readCudaRule({ allowedCudaVersions, minCudaVersion }: StockInput): CudaRule {
  const allowed = (allowedCudaVersions ?? []).flatMap((version) => version || []);
  if (allowed.length > MAX_CUDA_VERSIONS) {
    throw new Failure('badRequest', `allowedCudaVersions: must not list more than ${MAX_CUDA_VERSIONS} versions`);
  }
  return { ...(allowed.length > 0 && { allowed }), ...(minCudaVersion && { min: minCudaVersion }) };
}

function placeFilter({ dataCenterId, compliance }: StockInput): (id: string) => boolean {
  const listed = new Set(readList(dataCenterId));
  const required = (compliance ?? []).flatMap((one) => one ?? []);
  return (id) => (listed.size === 0 || listed.has(id)) && hasCompliance(id, required);
}

/** True when the data center has all of the certificates. */
export function hasCompliance(dataCenterId: string, required: readonly string[]): boolean {
  if (required.length === 0) return true;
  const has: readonly string[] = findDataCenter(dataCenterId)?.compliance ?? [];
  return required.every((one) => has.includes(one));
}

function gpuCounts(gpu: GpuType, entries: readonly GpuStock[]) {
  const atMost = Math.max(gpu.maxCount.secure, gpu.maxCount.community);
  const most = entries.reduce((sum, { free }) => Math.max(sum, Math.min(free, atMost)), 0);
  return {
    availableGpuCounts: () => Array.from({ length: most }, (_, i) => i + 1),
    maxUnreservedGpuCount: most,
    maxGpuCount: atMost,
  };
}

/** Newest first. Machines whose driver is unknown are left out. */
function cudaVersions(gpu: GpuType, entries: readonly GpuStock[], wish: GpuRequest) {
  const fits = new Map<string, number>();
  for (const entry of entries) {
    const { cudaVersion: version } = entry;
    if (version !== undefined) fits.set(version, (fits.get(version) ?? 0) + countFits(gpu, entry, wish));
  }
  return [...fits]
    .sort(([a], [b]) => (isOlderCuda(a, b) ? 1 : -1))
    .map(([cudaVersion, count]) => ({ cudaVersion, availability: count > 0 ? 'AVAILABLE' : 'UNAVAILABLE' }));
}

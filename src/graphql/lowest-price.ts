import { type Availability, countFits, type GpuRequest, gpuAvailability } from '../domain/catalog/availability.ts';
import type { GpuStock, Stock } from '../domain/catalog/capacity-source.ts';
import { findDataCenter, type GpuType } from '../domain/catalog/catalog.ts';
import { fitsCuda, isOlderCuda } from '../domain/catalog/cuda-version.ts';
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

/** Maps to the type LowestPrice: the cheapest of the requested clouds that offer enough GPUs; no price if none does. */
export function toLowestPrice(gpu: GpuType, input: StockInput, stock: Stock) {
  const count = readGpuCount(input);
  const clouds = (['secure', 'community'] as const).filter(
    (cloud) => (input.secureCloud ?? cloud === 'secure') === (cloud === 'secure') && gpu.maxCount[cloud] >= count,
  );
  const prices = clouds.flatMap((cloud) => gpu.price[cloud] ?? []);
  const wish: GpuRequest = { count, cloud: null, cuda: {} };
  const here = placesFor(input, stock).gpus.filter((entry) => entry.gpuTypeId === gpu.id && entry.total > 0);
  const fitting = here.filter((entry) => fitsCuda(entry.cudaVersion, cudaRule(input)));
  const isOffered = prices.length > 0;
  return {
    gpuName: gpu.name,
    gpuTypeId: gpu.id,
    uninterruptablePrice: isOffered ? Math.min(...prices) : null,
    stockStatus: isOffered
      ? STOCK_STATUS[gpuAvailability(gpu, { ...stock, gpus: fitting }, wish).availability]
      : 'None',
    ...gpuCounts(gpu, isOffered ? fitting : []),
    gpuTypeCudaVersions: cudaVersions(gpu, here, wish),
    compliance: input.compliance?.flatMap((one) => one ?? []) ?? [],
  };
}

/** Returns the stock of the machines that the input asks for. */
export function stockFor(input: StockInput, stock: Stock): Stock {
  const here = placesFor(input, stock);
  return { ...here, gpus: here.gpus.filter((entry) => fitsCuda(entry.cudaVersion, cudaRule(input))) };
}

export function readGpuCount({ gpuCount }: StockInput): number {
  return readNumber(gpuCount, 'gpuCount', { min: 1, fallback: 1 });
}

function placesFor({ dataCenterId, compliance }: StockInput, stock: Stock): Stock {
  const listed = readList(dataCenterId);
  const required = (compliance ?? []).flatMap((one) => one ?? []);
  const isWanted = (id: string) => (listed.length === 0 || listed.includes(id)) && hasCompliance(id, required);
  return { ...stock, gpus: stock.gpus.filter((entry) => isWanted(entry.dataCenterId)) };
}

/** True when the data center has all of the certificates. */
export function hasCompliance(dataCenterId: string, required: readonly string[]): boolean {
  const has: readonly string[] = findDataCenter(dataCenterId)?.compliance ?? [];
  return required.every((one) => has.includes(one));
}

function cudaRule({ allowedCudaVersions, minCudaVersion }: StockInput) {
  const allowed = (allowedCudaVersions ?? []).flatMap((version) => version || []);
  return { ...(allowed.length > 0 && { allowed }), ...(minCudaVersion && { min: minCudaVersion }) };
}

function gpuCounts(gpu: GpuType, entries: readonly GpuStock[]) {
  const atMost = Math.max(gpu.maxCount.secure, gpu.maxCount.community);
  const most = Math.min(atMost, Math.max(0, ...entries.map(({ free }) => free)));
  return {
    availableGpuCounts: Array.from({ length: most }, (_, i) => i + 1),
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

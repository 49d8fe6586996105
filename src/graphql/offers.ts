import { Failure } from '../core/errors.ts';
import {
  type Availability,
  type Available,
  countFits,
  type GpuRequest,
  gpuAvailability,
  listGpusIn,
} from '../domain/catalog/availability.ts';
import type { GpuStock, Stock } from '../domain/catalog/capacity-source.ts';
import { findDataCenter, type GpuType } from '../domain/catalog/catalog.ts';
import { MAX_CUDA_VERSIONS } from '../domain/endpoints/gpu-rule.ts';
import { type CudaRule, fitsCuda, isOlderCuda } from '../scaling/cuda-version.ts';
import { readList, readNumber } from './inputs.ts';

export const STOCK_STATUS: Record<Availability, string> = { HIGH: 'High', MEDIUM: 'Medium', LOW: 'Low', NONE: 'None' };

/** A client's requirements of a machine with GPUs. Any field may be null. */
export interface StockInput {
  gpuCount?: number | null;
  secureCloud?: boolean | null;
  dataCenterId?: string | null;
  minCudaVersion?: string | null;
  allowedCudaVersions?: (string | null)[] | null;
  compliance?: (string | null)[] | null;
}

/** True for the CUDA version of a driver that the client can use. */
type CudaFilter = (version: string | undefined) => boolean;

type LowestPrice = ReturnType<typeof toLowestPrice>;

/**
 * The offers of the catalog for one stock. A document may ask for every type and data center many times, with the same rules and
 * with others: each question is answered once, from the part of the stock that it is about.
 */
export class Offers {
  readonly stock: Stock;
  readonly #byType: Map<string, GpuStock[]>;
  readonly #byDataCenter: Map<string, GpuStock[]>;
  readonly #cudaFilters = new Map<string, CudaFilter>();
  readonly #lowestPrices = new Map<string, LowestPrice>();
  readonly #gpusIn = new Map<string, ReturnType<typeof toAvailability>[]>();

  constructor(stock: Stock) {
    this.stock = stock;
    this.#byType = Map.groupBy(stock.gpus, ({ gpuTypeId }) => gpuTypeId);
    this.#byDataCenter = Map.groupBy(stock.gpus, ({ dataCenterId }) => dataCenterId);
  }

  /** The type LowestPrice of a GPU type. */
  lowestPrice(gpu: GpuType, input: StockInput): LowestPrice {
    return remember(this.#lowestPrices, `${gpu.id} ${JSON.stringify(input)}`, () => {
      const canUse = this.#cudaFilter(input);
      return toLowestPrice(gpu, input, this.stock, { entries: this.#byType.get(gpu.id) ?? [], canUse });
    });
  }

  /** The type GpuAvailability of each GPU type that a data center has. */
  gpusIn(dataCenterId: string, input: StockInput): ReturnType<typeof toAvailability>[] {
    return remember(this.#gpusIn, `${dataCenterId} ${JSON.stringify(input)}`, () => {
      const wish = { count: readGpuCount(input), cloud: cloudOf(input.secureCloud), cuda: {} };
      const canUse = this.#cudaFilter(input);
      const gpus = (this.#byDataCenter.get(dataCenterId) ?? []).filter(({ cudaVersion }) => canUse(cudaVersion));
      return listGpusIn(dataCenterId, { ...this.stock, gpus }, wish).map(toAvailability);
    });
  }

  /** Remembers its answers: machines have few versions. */
  #cudaFilter(input: StockInput): CudaFilter {
    const rule = readCudaRule(input);
    return remember(this.#cudaFilters, JSON.stringify(rule), () => {
      const known = new Map<string | undefined, boolean>();
      return (version) => remember(known, version, () => fitsCuda(version, rule));
    });
  }
}

function remember<K, V>(known: Map<K, V>, key: K, find: () => V): V {
  let value = known.get(key);
  if (value === undefined) {
    value = find();
    known.set(key, value);
  }
  return value;
}

function toAvailability({ id: gpuTypeId, name, availability }: Available) {
  return {
    id: gpuTypeId,
    gpuTypeId,
    gpuTypeDisplayName: name,
    displayName: name,
    available: availability !== 'NONE',
    stockStatus: STOCK_STATUS[availability],
  };
}

function cloudOf(isSecure: boolean | null | undefined): GpuRequest['cloud'] {
  if (isSecure === undefined || isSecure === null) return null;
  return isSecure ? 'SECURE' : 'COMMUNITY';
}

/**
 * Maps to the type LowestPrice: the cheapest of the requested clouds that offer enough GPUs; no price if none does.
 * `entries`: the stock of this type alone.
 */
function toLowestPrice(
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
    stockStatus: once(
      () => STOCK_STATUS[isOffered ? gpuAvailability(gpu, { ...stock, gpus: fitting }, wish).availability : 'NONE'],
    ),
    ...gpuCounts(gpu, isOffered ? fitting : []),
    gpuTypeCudaVersions: once(() => cudaVersions(gpu, here, wish)),
    compliance: input.compliance?.flatMap((one) => one ?? []) ?? [],
  };
}

/** Returns a function that works its answer out at the first call, if one comes. */
function once<T>(find: () => T): () => T {
  let answer: { value: T } | undefined;
  return () => {
    answer ??= { value: find() };
    return answer.value;
  };
}

function readGpuCount({ gpuCount }: StockInput): number {
  return readNumber(gpuCount, 'gpuCount', { min: 1, fallback: 1 });
}

/** Throws `badRequest` for a list that takes long to compare with. */
function readCudaRule({ allowedCudaVersions, minCudaVersion }: StockInput): CudaRule {
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
    availableGpuCounts: once(() => Array.from({ length: most }, (_, i) => i + 1)),
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

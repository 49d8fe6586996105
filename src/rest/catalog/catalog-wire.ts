import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import { gpuPrice } from '../../domain/billing/price-list.ts';
import {
  type Availability,
  type Available,
  type CudaOffer,
  cpuAvailability,
  type GpuRequest,
  gpuAvailability,
  listCpusIn,
  listCudaVersions,
  listGpusIn,
  stockIn,
} from '../../domain/catalog/availability.ts';
import type { CapacitySource, Stock } from '../../domain/catalog/capacity-source.ts';
import type { CpuFlavor, DataCenter, GpuType } from '../../domain/catalog/catalog.ts';
import { TEMPLATE_SOURCES, type TemplateSource } from '../../domain/templates/template.ts';
import type { CudaRule } from '../../scaling/cuda-version.ts';
import { LEAST_VCPUS, type LeastVcpus } from '../shared/least-vcpus.ts';
import type { Wire } from '../shared/wire.ts';
import {
  type CpuFlavorQuery,
  type CpuFlavorResponse,
  cpuFlavorQueries,
  type DataCenterListQuery,
  type DataCenterResponse,
  type GpuTypeQuery,
  type GpuTypeResponse,
  gpuTypeQueries,
  type PublicTemplateQuery,
} from './catalog-schemas.ts';

type Extra = { availability?: Availability; dataCenters?: Available[]; cudaVersions?: CudaOffer[] };

/** How a revision asks for the catalog and answers. Queries have passed the wire's own schemas. */
export interface CatalogWire extends Wire {
  readonly gpuQueries: ReturnType<typeof gpuTypeQueries>;
  readonly cpuQueries: ReturnType<typeof cpuFlavorQueries>;
  readonly leastVcpus: LeastVcpus;
  /** Throws `badRequest` for parameters that do not go together. */
  checkQuery(query: { include?: string; product?: string }): void;
  /** Removes the lists that the revision leaves out. */
  withoutEmpty<T extends object>(entry: T): T;
}

export const CATALOG_WIRE_2026_07: CatalogWire = {
  schemas: [],
  gpuQueries: gpuTypeQueries('^[0-9]{1,3}([.][0-9]{1,3}){0,2}$', false),
  cpuQueries: cpuFlavorQueries(false, LEAST_VCPUS['2026-07']),
  leastVcpus: LEAST_VCPUS['2026-07'],
  checkQuery: () => {},
  withoutEmpty: (entry) => entry,
};

export const CATALOG_WIRE_2026_08: CatalogWire = {
  schemas: [],
  gpuQueries: gpuTypeQueries('^\\d+(\\.\\d+)?$', true),
  cpuQueries: cpuFlavorQueries(true, LEAST_VCPUS['2026-08']),
  leastVcpus: LEAST_VCPUS['2026-08'],
  checkQuery: ({ include, product }) => {
    if ((include === undefined) === (product === undefined)) return;
    const [given, missing] = include === undefined ? ['product', 'include=AVAILABILITY'] : ['include', 'product'];
    throw new Failure('badRequest', `${given}: requires ${missing}`);
  },
  withoutEmpty: (entry) => {
    const isKept = ([, value]: [string, unknown]) => !(Array.isArray(value) && value.length === 0);
    return Object.fromEntries(Object.entries(entry).filter(isKept)) as typeof entry;
  },
};

/** Returns the availability of a catalog entry; nothing, unless the query includes it. */
export type Describe<T> = (entry: T) => Extra;

/** Throws `badRequest` for filters that apply to availability only, if that is not included. */
export async function gpuDescriber(
  capacity: CapacitySource,
  wire: CatalogWire,
  query: GpuTypeQuery,
): Promise<Describe<GpuType>> {
  wire.checkQuery(query);
  const { include, count, cloud, minCudaVersion, cudaVersions, countryCodes } = query;
  if (include === undefined) return refuseFilters({ count, cloud, minCudaVersion, cudaVersions, countryCodes });
  const cuda = toCudaRule(minCudaVersion, cudaVersions);
  const whole = await capacity.read();
  const stock = countryCodes === undefined ? whole : stockIn(whole, splitList(countryCodes));
  const wish: GpuRequest = { count: count ?? 1, cloud: cloud ?? null, cuda };
  return (gpu) =>
    wire.withoutEmpty({ ...gpuAvailability(gpu, stock, wish), cudaVersions: listCudaVersions(gpu, stock) });
}

function toCudaRule(minCudaVersion: string | undefined, cudaVersions: string | undefined): CudaRule {
  if (cudaVersions === undefined) return minCudaVersion === undefined ? {} : { min: minCudaVersion };
  if (minCudaVersion === undefined) return { allowed: splitList(cudaVersions) };
  throw new Failure('badRequest', 'cudaVersions, minCudaVersion: only one of them can be given');
}

/** Like `gpuDescriber`. */
export async function cpuDescriber(
  capacity: CapacitySource,
  wire: CatalogWire,
  query: CpuFlavorQuery,
): Promise<Describe<CpuFlavor>> {
  wire.checkQuery(query);
  const { include, vcpuCount } = query;
  if (include === undefined) return refuseFilters({ vcpuCount });
  const stock = await capacity.read();
  return (flavor) => {
    const vcpus = vcpuCount ?? Math.max(flavor.vcpu.min, wire.leastVcpus);
    return wire.withoutEmpty(cpuAvailability(flavor, stock, vcpus));
  };
}

function refuseFilters(filters: Record<string, unknown>): Describe<unknown> {
  const given = Object.keys(filters).filter((name) => filters[name] !== undefined);
  if (given.length === 0) return () => ({});
  throw new Failure('badRequest', `${given.join(', ')}: requires include=AVAILABILITY`);
}

export async function dataCenterDescriber(
  capacity: CapacitySource,
  wire: CatalogWire,
  include: string | undefined,
): Promise<(dataCenter: DataCenter) => Pick<Static<typeof DataCenterResponse>, 'gpuAvailability' | 'cpuAvailability'>> {
  const wanted = splitList(include);
  if (wanted.length === 0) return () => ({});
  const stock: Stock = await capacity.read();
  return ({ id }) =>
    wire.withoutEmpty({
      ...(wanted.includes('GPU_AVAILABILITY') ? { gpuAvailability: listGpusIn(id, stock) } : {}),
      ...(wanted.includes('CPU_AVAILABILITY') ? { cpuAvailability: listCpusIn(id, stock, wire.leastVcpus) } : {}),
    });
}

export function isOfProduct(gpu: GpuType, product: string | undefined): boolean {
  if (product === undefined) return true;
  const products = splitList(product);
  if (products.includes('SERVERLESS') && gpu.pool !== null) return true;
  return (products.includes('POD') || products.includes('CLUSTER')) && (gpu.secure || gpu.community);
}

export function matches(dataCenter: DataCenter, query: Static<typeof DataCenterListQuery>): boolean {
  const has = (offered: readonly string[], wanted: string | undefined) =>
    splitList(wanted).every((item) => offered.includes(item));
  return (
    (query.regions === undefined || splitList(query.regions).includes(dataCenter.region)) &&
    has(dataCenter.networkVolumeTypes, query.networkVolumeTypes) &&
    has(dataCenter.compliance, query.compliance) &&
    (query.globalNetwork === undefined || query.globalNetwork === dataCenter.globalNetwork)
  );
}

function splitList(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',');
}

export function toGpuTypeResponse(gpu: GpuType, extra: Extra): Static<typeof GpuTypeResponse> {
  const { secure, community } = gpu.price;
  const price = {
    secure: secure ?? community ?? 0,
    community: community ?? secure ?? 0,
    ...(gpu.pool !== null && { serverless: gpuPrice(gpu, 'SERVERLESS') }),
  };
  return { ...gpu, price, ...extra };
}

/** In the order of the catalog, each once. */
export function toTemplateSources({ source }: Static<typeof PublicTemplateQuery>): TemplateSource[] {
  const wanted = splitList(source);
  return TEMPLATE_SOURCES.filter((one) => wanted.length === 0 || wanted.includes(one));
}

export function toCpuFlavorResponse(
  flavor: CpuFlavor,
  { leastVcpus }: CatalogWire,
  extra: Extra,
): Static<typeof CpuFlavorResponse> {
  const { min, max } = flavor.vcpu;
  return { ...flavor, vcpu: { min: Math.max(min, leastVcpus), max }, ...extra };
}

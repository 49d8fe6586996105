import type { VolumeType } from '../volumes/volume.ts';
import data from './catalog.json' with { type: 'json' };

/**
 * The catalog: GPU types and their serverless pools, CPU flavors, data centers, by the names that clients send. The runtime
 * decides what is available. Prices are in USD.
 */

export interface GpuType {
  id: string;
  name: string;
  /** Its serverless pool; null if it is for pods only. */
  pool: string | null;
  manufacturer: 'NVIDIA' | 'AMD' | 'UNKNOWN';
  memory: number;
  secure: boolean;
  community: boolean;
  /** Per GPU and hour; null if not offered. */
  price: { secure: number | null; community: number | null };
  maxCount: { secure: number; community: number };
}

export interface CpuFlavor {
  id: string;
  name: string;
  group: string;
  vcpu: { min: number; max: number };
  ramGbPerVcpu: number;
  price: { securePerVcpu: number; serverlessPerVcpu: number };
}

export const REGIONS = [
  'NORTH_AMERICA',
  'SOUTH_AMERICA',
  'EUROPE',
  'ASIA',
  'MIDDLE_EAST',
  'AFRICA',
  'OCEANIA',
  'ANTARCTICA',
  'UNKNOWN',
] as const;
type Region = (typeof REGIONS)[number];

export const COMPLIANCE = [
  'GDPR',
  'ISO_IEC_27001',
  'ISO_14001',
  'PCI_DSS',
  'HITRUST',
  'SOC_1_TYPE_2',
  'SOC_2_TYPE_2',
  'SOC_3_TYPE_2',
  'ITAR',
  'FISMA_HIGH',
  'HIPAA',
  'RENEWABLE',
] as const;
type Compliance = (typeof COMPLIANCE)[number];

export const VOLUME_TYPES = ['STANDARD', 'HIGH_PERFORMANCE'] as const satisfies readonly VolumeType[];

export interface DataCenter {
  id: string;
  name: string;
  region: Region;
  /** ISO 3166-1, two letters; absent: not known. */
  countryCode?: string;
  globalNetwork: boolean;
  /** The first one is the default. */
  networkVolumeTypes: VolumeType[];
  compliance: Compliance[];
}

/** A template of the installation. Every user may use it, and none can change it. */
export interface CatalogTemplate {
  /** Clients send it: `runpod-ubuntu`. */
  id: string;
  name: string;
  image: string;
  args: string;
  diskGb: number;
  ports: string[];
  env: Record<string, string>;
  /** For pods with GPUs; null: none. */
  persistentMount: { sizeGb: number; path: string } | null;
  category: 'NVIDIA' | 'AMD' | 'CPU';
  /** For endpoints; otherwise for pods. */
  isServerless: boolean;
  readme: string;
}

export interface Catalog {
  gpuPools: string[];
  gpus: GpuType[];
  cpus: CpuFlavor[];
  dataCenters: DataCenter[];
  templates: CatalogTemplate[];
}

export const OWN_CATALOG = data as Catalog;

let catalog = OWN_CATALOG;

/**
 * Replaces the built-in catalog by an operator's, for the whole process: call it at the start, before anything reads it. The
 * catalog is global because it is a constant table of names, like time zones.
 */
export function useCatalog(other: Catalog): void {
  catalog = other;
}

/** Adds GPU types that were found on machines, with their pools; one with the id of an entry replaces it (found-types.ts). */
export function addGpuTypes(types: readonly GpuType[]): void {
  const ids = new Set(types.map(({ id }) => id));
  const pools = types.flatMap(({ pool }) => pool ?? []);
  catalog = {
    ...catalog,
    gpus: [...catalog.gpus.filter(({ id }) => !ids.has(id)), ...types],
    gpuPools: [...new Set([...catalog.gpuPools, ...pools])],
  };
}

/** The data center of this machine, where workers run by default. */
export const LOCAL_DATA_CENTER = 'LOCAL-1';

export function gpuPools(): readonly string[] {
  return catalog.gpuPools;
}

export function gpuTypes(): readonly GpuType[] {
  return catalog.gpus;
}

export function cpuFlavors(): readonly CpuFlavor[] {
  return catalog.cpus;
}

export function dataCenters(): readonly DataCenter[] {
  return catalog.dataCenters;
}

export function catalogTemplates(): readonly CatalogTemplate[] {
  return catalog.templates;
}

export function findGpuType(id: string): GpuType | undefined {
  return catalog.gpus.find((gpu) => gpu.id === id);
}

/** Returns the types that workers of a pool may run on; none for an unknown pool. */
export function gpuTypesOfPool(pool: string): readonly GpuType[] {
  return catalog.gpus.filter((gpu) => gpu.pool === pool);
}

export function findCpuFlavor(id: string): CpuFlavor | undefined {
  return catalog.cpus.find((flavor) => flavor.id === id);
}

export function findDataCenter(id: string): DataCenter | undefined {
  return catalog.dataCenters.find((dataCenter) => dataCenter.id === id);
}

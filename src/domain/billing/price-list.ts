import { type CpuFlavor, cpuFlavors, findCpuFlavor, findGpuType, type GpuType, gpuTypes } from '../catalog/catalog.ts';
import type { UsageComponent } from './usage.ts';

/** Price lists: for workers, and for pods in each cloud. Storage costs the same in all. */
const TARIFFS = ['SERVERLESS', 'SECURE', 'COMMUNITY'] as const;
export type Tariff = (typeof TARIFFS)[number];

/** One unit (a GPU, a vCPU, a GB) for one hour. */
export interface Price {
  tariff: Tariff;
  component: UsageComponent;
  /** GPU type or CPU flavor; empty for storage. */
  item: string;
  usdPerHour: number;
}

/** Storage is priced per month of 730 hours. */
const HOURS_A_MONTH = 730;
const STORAGE_USD_PER_GB_MONTH: Partial<Record<UsageComponent, number>> = {
  DISK: 0.1,
  STANDARD: 0.07,
  HIGH_PERFORMANCE: 0.14,
};

/** Returns the current prices of the catalog. Items without a price are free. */
export function currentPrices(): Price[] {
  return [
    ...TARIFFS.flatMap((tariff) => [
      ...gpuTypes().map((gpu) => ({ ...hourly('GPU', gpu.id, gpuPrice(gpu, tariff)), tariff })),
      ...cpuFlavors().map((flavor) => ({ ...hourly('CPU', flavor.id, cpuPrice(flavor, tariff)), tariff })),
    ]),
    ...Object.entries(STORAGE_USD_PER_GB_MONTH).flatMap(([component, price]) =>
      TARIFFS.map((tariff) => ({ ...hourly(component as UsageComponent, '', price / HOURS_A_MONTH), tariff })),
    ),
  ];
}

/** Returns prices as arrays, for `unnest`: component, item, USD per hour, tariff. */
export function priceArrays(prices: readonly Price[]): [string[], string[], number[], string[]] {
  return [
    prices.map(({ component }) => component),
    prices.map(({ item }) => item),
    prices.map(({ usdPerHour }) => usdPerHour),
    prices.map(({ tariff }) => tariff),
  ];
}

/** Returns the hourly cost of a pod's GPUs or CPUs, without its storage. */
export function podUsdPerHour(pod: {
  gpu: { id: string; count: number } | null;
  cpu: { id: string; vcpuCount: number } | null;
  cloud: 'SECURE' | 'COMMUNITY';
}): number {
  const gpu = pod.gpu && findGpuType(pod.gpu.id);
  const flavor = pod.cpu && findCpuFlavor(pod.cpu.id);
  const price =
    (gpu ? pod.gpu!.count * gpuPrice(gpu, pod.cloud) : 0) +
    (flavor ? pod.cpu!.vcpuCount * cpuPrice(flavor, pod.cloud) : 0);
  return Number(price.toFixed(6)); // rounds 4 × 0.034 = 0.13600000000000001
}

function hourly(component: UsageComponent, item: string, usdPerHour: number): Omit<Price, 'tariff'> {
  return { component, item, usdPerHour };
}

/** Per GPU and hour. */
export function gpuPrice({ price }: Pick<GpuType, 'price'>, tariff: Tariff): number {
  if (tariff === 'COMMUNITY') return price.community ?? 0;
  return price.secure ?? (tariff === 'SERVERLESS' ? price.community : null) ?? 0;
}

function cpuPrice({ price }: CpuFlavor, tariff: Tariff): number {
  return tariff === 'SERVERLESS' ? price.serverlessPerVcpu : price.securePerVcpu;
}

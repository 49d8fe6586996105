import { cpuFlavors, gpuTypes } from '../catalog/catalog.ts';
import type { UsageComponent } from './usage.ts';

/** One unit (a GPU, a vCPU, a GB) for one hour. */
export interface Price {
  component: UsageComponent;
  /** GPU type or CPU flavour; empty for storage. */
  item: string;
  usdPerHour: number;
}

/** The public cloud's storage prices, of which a month is 730 hours. */
const HOURS_A_MONTH = 730;
const STORAGE_USD_PER_GB_MONTH: Partial<Record<UsageComponent, number>> = {
  DISK: 0.1,
  STANDARD: 0.07,
  HIGH_PERFORMANCE: 0.14,
};

/** What workers and volumes cost now, by the catalogue. What it does not price costs nothing. */
export function currentPrices(): Price[] {
  return [
    ...gpuTypes().map(({ id, price }) => ({
      component: 'GPU' as const,
      item: id,
      usdPerHour: price.secure ?? price.community ?? 0,
    })),
    ...cpuFlavors().map(({ id, price }) => ({
      component: 'CPU' as const,
      item: id,
      usdPerHour: price.serverlessPerVcpu,
    })),
    ...Object.entries(STORAGE_USD_PER_GB_MONTH).map(([component, price]) => ({
      component: component as UsageComponent,
      item: '',
      usdPerHour: price / HOURS_A_MONTH,
    })),
  ];
}

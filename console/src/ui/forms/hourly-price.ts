import type { Schemas } from '../../api/client.ts';
import { formatUsd } from '../text/format.ts';

type Gpu = Schemas['GpuType'];
type Cpu = Schemas['CpuFlavor'];
type Capacity = Schemas['GpuCapacity']['gpus'];

/** The catalog's prices; empty while it loads. */
export interface PriceList {
  gpus?: readonly Gpu[] | undefined;
  cpus?: readonly Cpu[] | undefined;
  /** Undefined: not known. */
  capacity?: Capacity | undefined;
}

/** US dollars per hour: one price, or the least and the most of several. */
export interface HourlyPrice {
  least: number;
  most: number;
}

/** Returns what a worker costs that gets a GPU of one of the pools; null without a price. */
export function poolPrice({ gpus = [] }: PriceList, pools: readonly string[], count: number): HourlyPrice | null {
  const members = gpus.filter(({ pool }) => pool !== null && pools.includes(pool));
  return span(members.map(({ price }) => count * (price.serverless ?? price.secure)));
}

/** Returns what a worker costs on one of the flavors. */
export function flavorPrice(
  { cpus = [] }: PriceList,
  flavors: readonly { id: string; vcpuCount: number }[],
): HourlyPrice | null {
  const priceOf = ({ id, vcpuCount }: { id: string; vcpuCount: number }) => {
    const flavor = cpus.find((one) => one.id === id);
    return flavor === undefined ? [] : [vcpuCount * flavor.price.serverlessPerVcpu];
  };
  return span(flavors.flatMap(priceOf));
}

/** Returns what a pod costs, without its storage. */
export function podPrice(list: PriceList, pod: { gpu?: PodPart; cpu?: PodPart }): HourlyPrice | null {
  const { gpu, cpu } = pod;
  const type = gpu && list.gpus?.find(({ id }) => id === gpu.id);
  if (type) return span([gpu.count * type.price.secure]);
  const flavor = cpu && list.cpus?.find(({ id }) => id === cpu.id);
  return flavor ? span([cpu.count * flavor.price.securePerVcpu]) : null;
}

interface PodPart {
  id: string;
  count: number;
}

function span(prices: readonly number[]): HourlyPrice | null {
  return prices.length === 0 ? null : { least: Math.min(...prices), most: Math.max(...prices) };
}

/** `$0.69`, or `$0.44 to $0.69` for several, times so many workers or pods. */
export function priceText({ least, most }: HourlyPrice, times = 1): string {
  const [low, high] = [least, most].map((usd) => formatUsd(Number((usd * times).toFixed(4))));
  return low === high ? low! : `${low} to ${high}`;
}

/** Returns how many GPUs of a kind are free and here; null if that is not known. */
export function freeGpus(
  { capacity }: PriceList,
  isOf: (type: Capacity[number]) => boolean,
): { free: number; total: number } | null {
  if (capacity === undefined) return null;
  const types = capacity.filter(isOf);
  const sum = (of: 'free' | 'total') => types.reduce((all, type) => all + type[of], 0);
  return { free: sum('free'), total: sum('total') };
}

import type { Schemas } from '../../api/client.ts';
import { formatUsd } from '../text/format.ts';

/** A GPU type or a pool of them, as a form offers it. */
export interface GpuChoice {
  value: string;
  label: string;
  /** Names of its GPUs, memory and price: `RTX 4090 · 24 GB · $0.69 an hour`. */
  details: string;
  /** Null: unknown, because the server cannot say now. */
  here: { total: number; free: number } | null;
}

type Gpu = Schemas['GpuType'];
type Capacity = Schemas['GpuCapacity']['gpus'];

/** Returns each pool once, with what workers of it cost. */
export function poolChoices(gpus: readonly Gpu[] = [], capacity?: Capacity): GpuChoice[] {
  const pools = new Map<string, Gpu[]>();
  for (const gpu of gpus) if (gpu.pool !== null) pools.set(gpu.pool, [...(pools.get(gpu.pool) ?? []), gpu]);
  return [...pools].map(([pool, members]) => ({
    value: pool,
    label: pool,
    details: [
      members.map(({ name }) => name).join(', '),
      range(
        members.map(({ memory }) => memory),
        (memory) => `${memory} GB`,
      ),
      range(
        members.map(({ price }) => price.serverless ?? price.secure),
        hourly,
      ),
    ].join(' · '),
    here: countHere(capacity, ({ pool: itsPool }) => itsPool === pool),
  }));
}

/** Returns each GPU type, with what pods of it cost. */
export function gpuChoices(gpus: readonly Gpu[] = [], capacity?: Capacity): GpuChoice[] {
  return gpus.map(({ id, name, memory, price }) => ({
    value: id,
    label: name,
    details: `${memory} GB · ${hourly(price.secure)}`,
    here: countHere(capacity, (type) => type.id === id),
  }));
}

function countHere(capacity: Capacity | undefined, isOf: (type: Capacity[number]) => boolean): GpuChoice['here'] {
  if (capacity === undefined) return null;
  const types = capacity.filter(isOf);
  const sum = (of: 'total' | 'free') => types.reduce((all, type) => all + type[of], 0);
  return { total: sum('total'), free: sum('free') };
}

function range(values: readonly number[], format: (value: number) => string): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? format(least) : `${format(least)} to ${format(most)}`;
}

function hourly(usd: number): string {
  return `${formatUsd(usd)} an hour`;
}

/** True unless it is known that none is here. */
export function isHere({ here }: GpuChoice): boolean {
  return here === null || here.total > 0;
}

/** `3 of 8 free`, or that there is none. */
export function hereText({ here }: GpuChoice): string {
  if (here === null) return '';
  return here.total === 0 ? 'Not on this installation' : `${here.free} of ${here.total} free`;
}

/** Returns the warning about chosen GPUs that are not on this installation; null if all are. */
export function absenceText(choices: readonly GpuChoice[], chosen: readonly string[], who: string): string | null {
  const absent = choices.filter((choice) => chosen.includes(choice.value) && !isHere(choice));
  if (absent.length === 0) return null;
  const names = absent.map(({ label }) => label).join(', ');
  const isAll = absent.length === chosen.length;
  return `${names}: no such GPU is on this installation. ${isAll ? `${who} will wait until one is added.` : 'The others are used.'}`;
}

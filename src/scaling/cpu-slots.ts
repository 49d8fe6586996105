/**
 * vCPUs and memory of machines as one kind of capacity, so that the rules for sharing GPUs hold for them too
 * (docs/decisions/0045-cpu-endpoints.md). A slot is one vCPU with its part of the memory: a worker takes as many as the larger
 * of its two parts needs, so that neither vCPUs nor memory are given away twice.
 */

import type { PlaceRequest, PoolCapacity } from './place-worker.ts';

/** vCPUs of a flavor, and the memory that goes with them, in GB. */
export interface CpuConfig {
  id: string;
  vcpuCount: number;
  memory: number;
}

/** The machines of a data center, together. */
export interface CpuPlace {
  dataCenterId: string;
  cpus: number;
  memoryBytes: number;
}

/** vCPUs that workloads in a data center were given: as many times as `count`. */
export interface CpusInUse {
  cpu: CpuConfig;
  dataCenterId: string | null;
  count: number;
}

/** The pool of all slots. */
const POOL = 'CPU';
const GIB = 2 ** 30;

/** Returns the slots of each place that are free. Never below 0. */
export function cpuCapacities(places: readonly CpuPlace[], used: Iterable<CpusInUse>): PoolCapacity[] {
  const taken = new Map<string, number>();
  for (const { cpu, dataCenterId, count } of used) {
    const place = places.find((one) => one.dataCenterId === dataCenterId) ?? places[0];
    if (!place) continue;
    taken.set(place.dataCenterId, (taken.get(place.dataCenterId) ?? 0) + slotsOf(cpu, place) * count);
  }
  return places.map((place) => {
    const total = Math.floor(place.cpus);
    const free = Math.max(0, total - (taken.get(place.dataCenterId) ?? 0));
    return { pool: POOL, gpuTypeId: POOL, dataCenterId: place.dataCenterId, total, free };
  });
}

/** Returns how many slots of a place a worker takes. */
export function slotsOf({ vcpuCount, memory }: CpuConfig, { cpus, memoryBytes }: CpuPlace): number {
  const slotBytes = memoryBytes / Math.max(1, Math.floor(cpus));
  return Math.max(vcpuCount, slotBytes > 0 ? Math.ceil((memory * GIB) / slotBytes) : Number.POSITIVE_INFINITY);
}

/** Which of its selection a worker asks for, and what that is in slots. */
export interface CpuWish {
  cpu: CpuConfig;
  request: PlaceRequest;
}

/**
 * Returns the first of the selection for which there is room now; without any, the smallest, which will have room first.
 * `dataCenterIds`: where it may run, empty for anywhere.
 */
export function chooseCpu(
  selection: readonly [CpuConfig, ...CpuConfig[]],
  dataCenterIds: readonly string[],
  places: readonly CpuPlace[],
  capacities: readonly PoolCapacity[],
): CpuWish {
  const allowed = places.filter((one) => dataCenterIds.length === 0 || dataCenterIds.includes(one.dataCenterId));
  const wishes = selection.map((cpu): CpuWish => {
    const count = Math.max(...allowed.map((place) => slotsOf(cpu, place)), cpu.vcpuCount);
    return { cpu, request: { pools: [POOL], count, dataCenterIds } };
  });
  const fits = ({ request }: CpuWish) =>
    capacities.some(
      (one) => allowed.some((place) => place.dataCenterId === one.dataCenterId) && one.free >= request.count,
    );
  const smallest = wishes.reduce((least, one) => (one.request.count < least.request.count ? one : least));
  return wishes.find(fits) ?? smallest;
}

/** A worker of a CPU endpoint as one that holds slots. */
export function toSlotHolder<T extends { cpu: CpuConfig | null; dataCenterId: string | null }>(
  holder: T,
  places: readonly CpuPlace[],
): T & { pool: string | null; gpuTypeId: string | null; count: number } {
  const place = places.find((one) => one.dataCenterId === holder.dataCenterId) ?? places[0];
  if (holder.cpu === null || !place) return { ...holder, pool: null, gpuTypeId: null, count: 0 };
  return { ...holder, pool: POOL, gpuTypeId: POOL, count: slotsOf(holder.cpu, place) };
}

/** Says what a worker lacks: `no capacity: it needs 4 vCPUs with 8 GB (cpu3c); free are 2 of 8 vCPUs, with 4 GB each`. */
export function describeLack(
  { cpu, request }: CpuWish,
  places: readonly CpuPlace[],
  capacities: readonly PoolCapacity[],
): string {
  const isAllowed = (id: string) => request.dataCenterIds.length === 0 || request.dataCenterIds.includes(id);
  const here = capacities.filter(({ dataCenterId }) => isAllowed(dataCenterId));
  const sum = (field: 'free' | 'total') => here.reduce((all, one) => all + one[field], 0);
  const bytes = places.reduce((all, one) => all + (isAllowed(one.dataCenterId) ? one.memoryBytes : 0), 0);
  const each = sum('total') === 0 ? '' : `, with ${Number((bytes / GIB / sum('total')).toFixed(1))} GB each`;
  const where = request.dataCenterIds.length === 0 ? '' : ` in ${request.dataCenterIds.join(', ')}`;
  const needs = `${cpu.vcpuCount} vCPUs with ${cpu.memory} GB (${cpu.id})`;
  return `no capacity: it needs ${needs}${where}; free are ${sum('free')} of ${sum('total')} vCPUs${each}`;
}

/** Subtracts GPUs in use from those there are. */

/** GPUs that workloads were given. The type is unknown for those of a simulation and for rows of older versions. */
export interface GpusInUse {
  pool: string | null;
  gpuTypeId?: string | null;
  dataCenterId: string | null;
  count: number;
}

interface GpuEntry {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
}

/**
 * Returns the entries with what is free of each. What is in use is subtracted from entries of its type first; the rest, from
 * any entry of its pool, in their order. Never below 0.
 */
export function subtractInUse<T extends GpuEntry>(
  entries: readonly T[],
  used: Iterable<GpusInUse>,
): (T & { free: number })[] {
  const left = sumAlike(used);
  const result = entries.map((entry) => ({ ...entry, free: entry.total }));
  for (const isSameType of [true, false]) {
    for (const entry of result) {
      for (const one of left) {
        if (entry.free === 0) break;
        if (one.count <= 0 || one.pool !== entry.pool || one.dataCenterId !== entry.dataCenterId) continue;
        if (isSameType && one.gpuTypeId !== entry.gpuTypeId) continue;
        const taken = Math.min(entry.free, one.count);
        entry.free -= taken;
        one.count -= taken;
      }
    }
  }
  return result;
}

/** Adds up those of the same type and place: there may be thousands, and few kinds. */
function sumAlike(used: Iterable<GpusInUse>): GpusInUse[] {
  const sums = new Map<string, GpusInUse>();
  for (const { pool, gpuTypeId = null, dataCenterId, count } of used) {
    const key = JSON.stringify([pool, gpuTypeId, dataCenterId]);
    const sum = sums.get(key);
    if (sum) sum.count += count;
    else sums.set(key, { pool, gpuTypeId, dataCenterId, count });
  }
  return [...sums.values()];
}

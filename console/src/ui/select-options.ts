import type { Schemas } from '../api/client.ts';
import { enumLabel } from './enum-label.ts';

interface Option {
  value: string;
  label: string;
}

/** Options of records by name; none while they load. */
export function recordOptions(records: readonly { id: string; name: string }[] = []): Option[] {
  return records.map(({ id, name }) => ({ value: id, label: name }));
}

export function volumeOptions(volumes: readonly Schemas['NetworkVolume'][] = []): Option[] {
  return volumes.map(({ id, name, dataCenter }) => ({ value: id, label: `${name} (${dataCenter})` }));
}

/** GPU types with their availability. */
export function gpuOptions(gpus: readonly Schemas['GpuType'][] = []): Option[] {
  return gpus.map(({ id, name, availability = 'NONE' }) => ({
    value: id,
    label: `${name} · ${availabilityLabel(availability)}`,
  }));
}

/** Each GPU pool once, with the memory of its GPUs and, if any are available, how many. */
export function poolOptions(gpus: readonly Schemas['GpuType'][] = []): Option[] {
  const labels = new Map<string, string>();
  for (const { pool, memory, availability = 'NONE' } of gpus) {
    if (pool === null) continue;
    const label = `${pool} (${memory} GB)`;
    if (availability !== 'NONE') labels.set(pool, `${label} · ${availabilityLabel(availability)}`);
    else if (!labels.has(pool)) labels.set(pool, label);
  }
  return [...labels].map(([value, label]) => ({ value, label }));
}

function availabilityLabel(availability: string): string {
  return availability === 'NONE' ? 'Unavailable' : `${enumLabel(availability)} availability`;
}

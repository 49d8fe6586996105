import type { GpuConfig } from './endpoint.ts';

/**
 * The GPUs of an endpoint in one text, as GraphQL and version 1 of REST write them: pools, then unwanted types with a minus, as
 * in `AMPERE_24,-NVIDIA L4`.
 */
export function formatGpuIds(gpu: GpuConfig | null): string {
  return [...(gpu?.pools ?? []), ...(gpu?.excludedTypes ?? []).map((type) => `-${type}`)].join(',');
}

/** Parses it. Without pools the list is empty. */
export function parseGpuIds(text: string): { pools: string[]; excludedTypes: string[] } {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  return {
    pools: items.filter((item) => !item.startsWith('-')),
    excludedTypes: items.flatMap((item) => (item.startsWith('-') ? [item.slice(1)] : [])),
  };
}

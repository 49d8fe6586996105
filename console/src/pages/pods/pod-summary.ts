import { freeGpus, type PriceList, podPrice, priceText } from '../../ui/forms/hourly-price.ts';
import type { SummaryText } from '../../ui/forms/summary.tsx';
import { formatCount } from '../../ui/text/format.ts';
import type { ClusterValues } from '../clusters/cluster-values.ts';
import { type PodValues, portsWith, type SharedValues } from './pod-values.ts';

/** Says what a pod with these values costs and starts. */
export function podSummary(values: PodValues, list: PriceList): SummaryText {
  const { hardware, gpu, cpu } = values;
  const price =
    hardware === 'gpu' ? podPrice(list, { gpu }) : podPrice(list, { cpu: { id: cpu.id, count: cpu.vcpuCount } });
  const urls = portsWith(values.ports, values).filter((port) => port.endsWith('/http')).length;
  return {
    price: price && priceText(price),
    priceNote: price === null ? 'Choose hardware to see the price' : 'per hour until it is stopped, without storage',
    facts: [
      ...(price ? [{ label: 'A day', value: priceText(price, 24) }] : []),
      { label: 'Starts', value: 'one container at once, which runs until you stop it' },
      ...(urls > 0 ? [{ label: 'Gets', value: formatCount(urls, 'URL') }] : []),
      ...storageFacts(values),
      ...(hardware === 'gpu' ? freeFacts(list, gpu.id) : []),
    ],
    warning: hardware === 'gpu' ? shortage(list, gpu.id, gpu.count) : null,
  };
}

/** Says what a cluster with these values costs and starts. */
export function clusterSummary(values: ClusterValues, list: PriceList): SummaryText {
  const { gpu, podCount } = values;
  const price = podPrice(list, { gpu });
  return {
    price: price && priceText(price, podCount),
    priceNote: price === null ? 'Choose a GPU to see the price' : 'per hour for all pods, without storage',
    facts: [
      ...(price ? [{ label: 'Each pod', value: `${priceText(price)} an hour` }] : []),
      { label: 'Starts', value: `${formatCount(podCount, 'pod')} at once, or none` },
      { label: 'Needs', value: formatCount(podCount * gpu.count, 'GPU') },
      ...storageFacts(values),
      ...freeFacts(list, gpu.id),
    ],
    warning: shortage(list, gpu.id, podCount * gpu.count),
  };
}

function storageFacts({ mount }: SharedValues) {
  if (mount.kind === 'none') return [];
  const what = mount.kind === 'persistent' ? `${mount.sizeGb} GB` : 'a network volume';
  return [{ label: 'Keeps', value: `${what} at ${mount.path}` }];
}

function freeFacts(list: PriceList, gpuId: string) {
  const free = freeGpus(list, ({ id }) => id === gpuId);
  if (free === null || gpuId === '') return [];
  return [{ label: 'Free now', value: `${free.free} of ${formatCount(free.total, 'GPU')}` }];
}

/** Why it would wait. GPUs that are not here at all have a note at their field. */
function shortage(list: PriceList, gpuId: string, needed: number): string | null {
  const free = freeGpus(list, ({ id }) => id === gpuId);
  if (free === null || free.total === 0 || free.free >= needed) return null;
  return `It waits until ${formatCount(needed, 'GPU')} ${needed === 1 ? 'is' : 'are'} free.`;
}

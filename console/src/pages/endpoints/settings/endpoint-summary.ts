import { changesOf } from '../../../ui/forms/changes.ts';
import { flavorPrice, freeGpus, type PriceList, poolPrice, priceText } from '../../../ui/forms/hourly-price.ts';
import type { SummaryText } from '../../../ui/forms/summary.tsx';
import { formatCount } from '../../../ui/text/format.ts';
import { makesRelease } from '../releases/makes-release.ts';
import {
  changedSettings,
  ENDPOINT_FIELDS,
  type Endpoint,
  type EndpointValues,
  endpointValues,
} from './endpoint-values.ts';

/** Says what an endpoint with these values costs and starts, and what they change of `endpoint`, if it exists. */
export function endpointSummary(
  values: EndpointValues,
  list: PriceList,
  { endpoint, names }: { endpoint?: Endpoint | undefined; names?: ReadonlyMap<string, string> } = {},
): SummaryText {
  const { hardware, gpu, cpu, workers } = values;
  const price = hardware === 'gpu' ? poolPrice(list, gpu.pools, gpu.count) : flavorPrice(list, cpu);
  const cost = (count: number) => {
    const workers = formatCount(count, 'worker');
    if (count === 0) return 'nothing';
    return price === null ? workers : `${priceText(price, count)} an hour, ${workers}`;
  };
  const free = hardware === 'gpu' ? freeGpus(list, ({ pool }) => gpu.pools.includes(pool)) : null;
  const hasPools = gpu.pools.length > 0;
  return {
    price: price && priceText(price),
    priceNote: price === null ? 'Choose hardware to see the price' : 'per worker and hour, while it runs',
    facts: [
      { label: 'At rest', value: cost(workers.min) },
      { label: 'At most', value: cost(workers.max) },
      ...(endpoint ? [] : [{ label: 'Starts', value: startText(values) }]),
      ...(free && hasPools ? [{ label: 'Free now', value: `${free.free} of ${formatCount(free.total, 'GPU')}` }] : []),
    ],
    ...(endpoint && changesText(endpoint, values, names)),
  };
}

function startText({ type, workers }: EndpointValues): string {
  if (workers.max === 0) return 'nothing: workers.max is 0, so it is paused';
  if (workers.min > 0) return `${formatCount(workers.min, 'worker')} at once`;
  return type === 'QUEUE' ? 'a worker, with the first job' : 'a worker, with the first request';
}

function changesText(endpoint: Endpoint, values: EndpointValues, names?: ReadonlyMap<string, string>) {
  const changes = changesOf(ENDPOINT_FIELDS, endpointValues(endpoint), values, names);
  const effect = makesRelease(changedSettings(endpoint, values))
    ? 'Makes a new version. Its workers replace those that run, once they finished what they do.'
    : 'Takes effect at once. Makes no new version, and replaces no worker.';
  return { changes, effect };
}

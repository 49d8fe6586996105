import type { NewEndpoint } from '../src/domain/endpoints/create-endpoint.ts';

/** The input of `createEndpoint`: a queue on a GPU with at most one worker, unless `fields` say otherwise. */
export function newEndpoint(fields: Partial<NewEndpoint> = {}): NewEndpoint {
  return {
    ...{ name: 'test', type: 'QUEUE_BASED', image: 'any:v1', gpu: { pools: ['ADA_24'], count: 1 } },
    ...{ workers: { min: 0, max: 1 }, scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeoutSeconds: 60 } },
    ...{ dataCenterIds: [], networkVolumeIds: [], timeoutMs: 0, flashboot: 'OFF', templateId: null },
    ...fields,
  };
}

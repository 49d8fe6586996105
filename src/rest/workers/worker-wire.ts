import type { Static } from 'typebox';
import type { WorkerDetail } from '../../domain/workers/get-worker.ts';
import type { WorkerList } from '../../domain/workers/list-workers.ts';
import type { WorkerDetailResponse, WorkerListResponse } from './worker-schemas.ts';

export function toWorkerListResponse(list: WorkerList): Static<typeof WorkerListResponse> {
  const workers = list.workers.map((worker) => ({ ...worker, startedAt: worker.startedAt?.toISOString() ?? null }));
  return { ...list, workers };
}

export function toWorkerDetailResponse(worker: WorkerDetail): Static<typeof WorkerDetailResponse> {
  return {
    ...worker,
    createdAt: worker.createdAt.toISOString(),
    startedAt: worker.startedAt?.toISOString() ?? null,
    frozenAt: worker.frozenAt?.toISOString() ?? null,
    endedAt: worker.endedAt?.toISOString() ?? null,
    timeline: worker.timeline.map(({ stage, from, to }) => ({
      stage,
      from: from.toISOString(),
      to: to?.toISOString() ?? null,
      ms: to && to.getTime() - from.getTime(),
    })),
  };
}

import type { Static } from 'typebox';
import type { WorkerDetail } from '../../domain/workers/get-worker.ts';
import type { Start } from '../../domain/workers/list-starts.ts';
import type { EndedWorker, WorkerList } from '../../domain/workers/list-workers.ts';
import type { Stage } from '../../domain/workers/worker-timeline.ts';
import type {
  EndedWorkerResponse,
  WorkerDetailResponse,
  WorkerListResponse,
  WorkerStartResponse,
} from './worker-schemas.ts';

export function toWorkerListResponse(list: WorkerList): Static<typeof WorkerListResponse> {
  const workers = list.workers.map((worker) => ({ ...worker, startedAt: worker.startedAt?.toISOString() ?? null }));
  return { ...list, workers };
}

export function toEndedWorkerResponse({ isLost, ...worker }: EndedWorker): Static<typeof EndedWorkerResponse> {
  return {
    ...worker,
    status: 'EXITED',
    lost: isLost,
    createdAt: worker.createdAt.toISOString(),
    startedAt: worker.startedAt?.toISOString() ?? null,
    endedAt: worker.endedAt.toISOString(),
  };
}

export function toWorkerDetailResponse(worker: WorkerDetail): Static<typeof WorkerDetailResponse> {
  return {
    ...worker,
    createdAt: worker.createdAt.toISOString(),
    startedAt: worker.startedAt?.toISOString() ?? null,
    frozenAt: worker.frozenAt?.toISOString() ?? null,
    endedAt: worker.endedAt?.toISOString() ?? null,
    timeline: toTimeline(worker.timeline),
  };
}

export function toStartResponse(start: Start): Static<typeof WorkerStartResponse> {
  const { workerId, version, createdAt, isReady, hasFailed, stages } = start;
  return {
    workerId,
    version,
    createdAt: createdAt.toISOString(),
    ready: isReady,
    failed: hasFailed,
    timeline: toTimeline(stages),
  };
}

function toTimeline(stages: readonly Stage[]): Static<typeof WorkerDetailResponse>['timeline'] {
  return stages.map(({ stage, from, to }) => ({
    stage,
    from: from.toISOString(),
    to: to?.toISOString() ?? null,
    ms: to && to.getTime() - from.getTime(),
  }));
}

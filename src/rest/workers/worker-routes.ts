import type { Static } from 'typebox';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import { type PodUsage, READ_TIMEOUT_MS } from '../../domain/pods/pod-figures.ts';
import { getWorker, type WorkerDetail } from '../../domain/workers/get-worker.ts';
import { listStarts, type Start } from '../../domain/workers/list-starts.ts';
import { type EndedWorker, listEndedWorkers, listWorkers, type WorkerList } from '../../domain/workers/list-workers.ts';
import type { Stage } from '../../domain/workers/worker-timeline.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import {
  type EndedWorkerResponse,
  WorkerDetailQuery,
  WorkerDetailResponse,
  WorkerListResponse,
  WorkerParams,
  WorkerQuery,
  type WorkerStartResponse,
  type WorkerUsage,
} from './worker-schemas.ts';

export const workerRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/workers', {
    schema: {
      operationId: 'listEndpointWorkers',
      summary: 'List the live workers of an endpoint',
      tags: ['serverless'],
      params: EndpointParams,
      querystring: WorkerQuery,
      response: { 200: ref(WorkerListResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound', 'unprocessable'] },
    handler: async (request) => {
      const id = request.params.id as EndpointId;
      const { userId } = request.actor;
      const list = await listWorkers(deps.pool, userId, id, deps.clock.now());
      const [ended, starts] = await Promise.all([
        includes(request.query, 'ENDED') ? listEndedWorkers(deps.pool, userId, id, list.endpointVersion) : null,
        includes(request.query, 'STARTS') ? listStarts(deps.pool, userId, id) : null,
      ]);
      return {
        ...toWorkerListResponse(list),
        ...(ended && { ended: ended.map(toEndedWorkerResponse) }),
        ...(starts && { starts: starts.map(toStartResponse) }),
      };
    },
  });

  app.get('/v2/serverless/:id/workers/:workerId', {
    schema: {
      operationId: 'getWorker',
      summary: 'Get a worker',
      description: 'Podyard only. Returns a live, frozen or ended worker with the timeline of its start.',
      tags: ['serverless', 'podyard'],
      params: WorkerParams,
      querystring: WorkerDetailQuery,
      response: { 200: ref(WorkerDetailResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound', 'unprocessable'] },
    handler: async (request) => {
      const { id, workerId } = request.params;
      const now = deps.clock.now();
      const worker = await getWorker(deps.pool, request.actor.userId, id as EndpointId, workerId as WorkerId, now);
      const response = toWorkerDetailResponse(worker);
      if (!includes(request.query, 'USAGE')) return response;
      return { ...response, usage: toUsage(await deps.podFigures.read([worker.id], READ_TIMEOUT_MS.one), worker.id) };
    },
  });
};

function toWorkerListResponse(list: WorkerList): Static<typeof WorkerListResponse> {
  const workers = list.workers.map((worker) => ({ ...worker, startedAt: worker.startedAt?.toISOString() ?? null }));
  return { ...list, workers };
}

function toEndedWorkerResponse({ isLost, ...worker }: EndedWorker): Static<typeof EndedWorkerResponse> {
  return {
    ...worker,
    status: 'EXITED',
    lost: isLost,
    createdAt: worker.createdAt.toISOString(),
    startedAt: worker.startedAt?.toISOString() ?? null,
    endedAt: worker.endedAt.toISOString(),
  };
}

function toWorkerDetailResponse(worker: WorkerDetail): Static<typeof WorkerDetailResponse> {
  return {
    ...worker,
    createdAt: worker.createdAt.toISOString(),
    startedAt: worker.startedAt?.toISOString() ?? null,
    frozenAt: worker.frozenAt?.toISOString() ?? null,
    endedAt: worker.endedAt?.toISOString() ?? null,
    timeline: toTimeline(worker.timeline),
  };
}

function toUsage(figures: ReadonlyMap<string, PodUsage>, id: string): Static<typeof WorkerUsage> | null {
  const found = figures.get(id);
  return found ? { cpu: { util: found.cpuUtil }, memory: { util: found.memoryUtil }, gpus: [...found.gpus] } : null;
}

function toStartResponse(start: Start): Static<typeof WorkerStartResponse> {
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

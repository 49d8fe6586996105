import type { EndpointId, JobId } from '../../core/ids.ts';
import { isPermitted } from '../../domain/access/actor.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { getJob } from '../../domain/jobs/get-job.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { JobDetailResponse, JobParams } from './job-schemas.ts';
import { renderJobDetail } from './job-wire.ts';

export const getJobRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/requests/:jobId',
    {
      schema: {
        operationId: 'getJob',
        summary: 'Get a job',
        description:
          'Podyard only. Returns a job with its payloads of at most 64 KiB, why it waits or what it waited for, and how its webhook was delivered. Needs what reading its status needs. A 404 once its result has expired.',
        tags: ['podyard'],
        params: JobParams,
        response: { 200: ref(JobDetailResponse) },
      },
      config: { permission: PERMISSIONS.readJob, failures: ['notFound'] },
    },
    async ({ actor, params }, reply) => {
      const { id } = await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId);
      const now = deps.clock.now();
      const mayReadLog = isPermitted(actor, PERMISSIONS.readEndpoint({ id }));
      const job = await getJob(deps.pool, id, params.jobId as JobId, { mayReadLog, now });
      return reply.type('application/json').send(renderJobDetail(job, now) as never);
    },
  );
};

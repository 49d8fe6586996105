import type { EndpointId } from '../../core/ids.ts';
import type { JobStatus } from '../../core/job-states.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { DEFAULT_PAGE, listJobs } from '../../domain/jobs/list-jobs.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { JobList, JobListQuery } from './job-schemas.ts';

export const listJobsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/requests',
    {
      schema: {
        operationId: 'listJobs',
        summary: 'List jobs of an endpoint',
        description:
          'Podyard only. Returns jobs of every state, newest first: queued and running ones, and ended ones while their result is kept. A load-balancing endpoint has none.',
        tags: ['podyard'],
        params: EndpointParams,
        querystring: JobListQuery,
        response: { 200: ref(JobList) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'notFound', 'unprocessable'] },
    },
    async ({ actor, params, query }) => {
      const { id } = await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId);
      const page = await listJobs(deps.pool, id, {
        statuses: query.status?.split(',') as JobStatus[] | undefined,
        since: query.since === undefined ? undefined : new Date(query.since),
        until: query.until === undefined ? undefined : new Date(query.until),
        workerId: query.workerId,
        error: query.error,
        limit: query.limit ?? DEFAULT_PAGE,
        cursor: query.cursor,
      });
      return { requests: page.jobs, nextCursor: page.nextCursor };
    },
  );
};

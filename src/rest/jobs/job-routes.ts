import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import type { EndpointId, JobId, UserId } from '../../core/ids.ts';
import type { JobStatus } from '../../core/job-states.ts';
import { isPermitted } from '../../domain/access/actor.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { getJob, type JobDetail } from '../../domain/jobs/get-job.ts';
import { DEFAULT_PAGE, listJobs } from '../../domain/jobs/list-jobs.ts';
import { measurePayload, type PayloadName, readPayload } from '../../domain/jobs/payloads.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { JobDetailResponse, JobList, JobListQuery, JobParams } from './job-schemas.ts';

const KINDS: readonly Kind[] = [
  {
    name: 'input',
    operationId: 'getJobInput',
    what: 'input',
    mediaType: 'application/json',
    example: { audio: 'https://example.com/talk.mp3' },
  },
  {
    name: 'output',
    operationId: 'getJobOutput',
    what: 'output, or while it runs its last progress update',
    mediaType: 'application/json',
    example: { text: 'Good morning.' },
  },
  {
    name: 'error',
    operationId: 'getJobError',
    what: 'error',
    mediaType: 'text/plain',
    example: 'the audio file is empty',
  },
];

export const jobRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/requests', {
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
    handler: async ({ actor, params, query }) => {
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
  });

  app.get('/v2/serverless/:id/requests/:jobId', {
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
    handler: async ({ actor, params }, reply) => {
      const { id } = await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId);
      const now = deps.clock.now();
      const mayReadLog = isPermitted(actor, PERMISSIONS.readEndpoint({ id }));
      const job = await getJob(deps.pool, id, params.jobId as JobId, { mayReadLog, now });
      return reply.type('application/json').send(renderJobDetail(job, now) as never);
    },
  });

  for (const kind of KINDS) {
    app.get(`/v2/serverless/:id/requests/:jobId/${kind.name}`, {
      schema: {
        operationId: kind.operationId,
        summary: `Get the ${kind.name} of a job`,
        description: `Podyard only. Returns the ${kind.what}, however large, byte for byte. A 404 if there is none, or once it has expired.`,
        tags: ['podyard'],
        params: JobParams,
        response: {
          200: {
            description: `The ${kind.name}.`,
            content: {
              [kind.mediaType]: {
                schema: kind.name === 'error' ? Type.String() : Type.Unknown(),
                example: kind.example,
              },
            },
          },
        },
      },
      config: { permission: PERMISSIONS.readJob, failures: ['notFound'] },
      handler: async (request, reply) => {
        const { id, jobId } = request.params as { id: string; jobId: string };
        const { userId } = request.actor;
        const endpoint = await getEndpointRow(deps.pool, userId, id as EndpointId);
        await sendPayload(deps, reply, { endpointId: endpoint.id, jobId: jobId as JobId, userId, kind });
        return reply;
      },
    });
  }
};

interface Kind {
  name: PayloadName;
  operationId: string;
  what: string;
  mediaType: string;
  example: unknown;
}

/** Reads the payload once there is memory for it, which is held until the client has it. */
async function sendPayload(
  { pool, answers }: RouteDeps,
  reply: FastifyReply,
  { endpointId, jobId, userId, kind }: { endpointId: EndpointId; jobId: JobId; userId: UserId; kind: Kind },
): Promise<void> {
  const bytes = await measurePayload(pool, endpointId, jobId, kind.name);
  await answers.hold(reply.raw, { bytes, userId }, async () => {
    const body = Buffer.from(await readPayload(pool, endpointId, jobId, kind.name));
    reply.hijack(); // the budget follows the response of Node.js
    const headers = { 'content-type': `${kind.mediaType}; charset=utf-8`, 'content-length': body.length };
    reply.raw.writeHead(200, { ...reply.getHeaders(), ...headers } as Record<string, string | number>);
    reply.raw.end(body);
  });
}

type Rendered = Omit<Static<typeof JobDetailResponse>, 'input' | 'output'>;

/** Renders a job as JSON text. Payloads are copied as they are: parsing would round large numbers and reorder keys. */
function renderJobDetail(job: JobDetail, now: number): string {
  const { input, output, isSync, executionTimeoutMs, attempts, webhook, wait, ...rest } = job;
  const rendered: Rendered = {
    ...rest,
    sync: isSync,
    executionTimeout: executionTimeoutMs,
    wait,
    attempts: attempts.map((attempt) => ({
      ...attempt,
      stages: attempt.stages.map(({ stage, from, to, reason }) => ({
        stage,
        from: from.toISOString(),
        to: to?.toISOString() ?? null,
        ms: Math.max(0, (to?.getTime() ?? now) - from.getTime()),
        reason,
      })),
    })),
    webhook: webhook && { ...webhook, nextTryAt: webhook.nextTryAt?.toISOString() ?? null },
  };
  const payloads = (input === null ? '' : `,"input":${input}`) + (output === null ? '' : `,"output":${output}`);
  return `${JSON.stringify(rendered).slice(0, -1)}${payloads}}`;
}

import type { FastifyReply } from 'fastify';
import type { EndpointId, JobId, UserId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { measurePayload, type PayloadName, readPayload } from '../../domain/jobs/payloads.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { JobParams } from './job-schemas.ts';

interface Kind {
  name: PayloadName;
  operationId: string;
  what: string;
  mediaType: string;
  example: unknown;
}

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

/** One route for each payload of a job. */
export const getJobPayloadRoutes: readonly RestRoute[] = KINDS.map(
  (kind): RestRoute =>
    (app, deps) => {
      app.get(
        `/v2/serverless/:id/requests/:jobId/${kind.name}`,
        {
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
        },
        async (request, reply) => {
          const { id, jobId } = request.params as { id: string; jobId: string };
          const { userId } = request.actor;
          const endpoint = await getEndpointRow(deps.pool, userId, id as EndpointId);
          await sendPayload(deps, reply, { endpointId: endpoint.id, jobId: jobId as JobId, userId, kind });
          return reply;
        },
      );
    },
);

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

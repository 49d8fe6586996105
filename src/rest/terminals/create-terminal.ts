import type { EndpointId, PodId, WorkerId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createTerminal } from '../../domain/terminals/create-terminal.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PodParams } from '../pods/pod-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreatePodTerminalRequest, CreateWorkerTerminalRequest, TerminalTicket } from './terminal-schemas.ts';
import { toTerminalRequest, toTerminalTicket } from './terminal-wire.ts';

const DESCRIPTION =
  'Podyard only. Prepares a session and returns how to open it, once, within a minute. Needs the scope `exec`, which `all` does not include. 409 when it does not run or too many sessions are open, 403 when the server has terminals disabled.';

export const createPodTerminalRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/pods/:id/terminals',
    {
      schema: {
        operationId: 'createPodTerminal',
        summary: 'Run a program or a shell in a pod',
        description: DESCRIPTION,
        tags: ['pods', 'podyard'],
        params: PodParams,
        body: ref(CreatePodTerminalRequest),
        response: { 201: ref(TerminalTicket) },
      },
      config: { permission: PERMISSIONS.exec, failures: ['notFound', 'conflict'] },
    },
    async ({ actor, params, body, raw }, reply) => {
      const place = { podId: params.id as PodId };
      const made = await change(deps, actor, createTerminal, { place, request: toTerminalRequest(body) });
      return reply.code(201).send(toTerminalTicket(deps.publicUrlFor(raw), made));
    },
  );
};

export const createWorkerTerminalRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/serverless/:id/terminals',
    {
      schema: {
        operationId: 'createWorkerTerminal',
        summary: 'Run a program or a shell in a worker',
        description: DESCRIPTION,
        tags: ['serverless', 'podyard'],
        params: EndpointParams,
        body: ref(CreateWorkerTerminalRequest),
        response: { 201: ref(TerminalTicket) },
      },
      config: { permission: PERMISSIONS.exec, failures: ['notFound', 'conflict'] },
    },
    async ({ actor, params, body, raw }, reply) => {
      const { workerId = null, ...request } = body;
      const place = { endpointId: params.id as EndpointId, workerId: workerId as WorkerId | null };
      const made = await change(deps, actor, createTerminal, { place, request: toTerminalRequest(request) });
      return reply.code(201).send(toTerminalTicket(deps.publicUrlFor(raw), made));
    },
  );
};

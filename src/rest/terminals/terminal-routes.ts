import type { Static } from 'typebox';
import type { EndpointId, PodId, TerminalId, WorkerId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { createTerminal } from '../../domain/terminals/create-terminal.ts';
import { endTerminal } from '../../domain/terminals/end-terminal.ts';
import {
  CONNECT_PATH,
  TERMINAL_PROTOCOL,
  type TerminalRequest,
  type TerminalSession,
  TICKET_PROTOCOL,
} from '../../domain/terminals/terminal.ts';
import { listSessions } from '../../domain/terminals/terminal-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PodParams } from '../pods/pod-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  CreatePodTerminalRequest,
  CreateWorkerTerminalRequest,
  TerminalList,
  TerminalListQuery,
  TerminalParams,
  type TerminalSessionResponse,
  TerminalTicket,
} from './terminal-schemas.ts';

const DESCRIPTION =
  'Podyard only. Prepares a session and returns how to open it, once, within a minute. Needs the scope `exec`, which `all` does not include. 409 when it does not run or too many sessions are open, 403 when the server has terminals disabled.';

const DEFAULT_LIMIT = 100;

const DEFAULT_SIZE = { columns: 80, rows: 24 };
/** The best shell that the image has. */
const SHELL = ['/bin/sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi'];

export const terminalRoutes: RestRoute = (app, deps) => {
  app.post('/v2/pods/:id/terminals', {
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
    handler: async ({ actor, params, body, raw }, reply) => {
      const place = { podId: params.id as PodId };
      const made = await change(deps, actor, createTerminal, { place, request: toTerminalRequest(body) });
      return reply.code(201).send(toTerminalTicket(deps.publicUrlFor(raw), made));
    },
  });

  app.post('/v2/serverless/:id/terminals', {
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
    handler: async ({ actor, params, body, raw }, reply) => {
      const { workerId = null, ...request } = body;
      const place = { endpointId: params.id as EndpointId, workerId: workerId as WorkerId | null };
      const made = await change(deps, actor, createTerminal, { place, request: toTerminalRequest(request) });
      return reply.code(201).send(toTerminalTicket(deps.publicUrlFor(raw), made));
    },
  });

  app.get('/v2/account/terminals', {
    schema: {
      operationId: 'listTerminals',
      summary: 'List terminal sessions',
      description: 'Podyard only. Who ran a program in a pod or worker, from where and for how long.',
      tags: ['podyard'],
      querystring: TerminalListQuery,
      response: { 200: ref(TerminalList) },
    },
    config: { permission: PERMISSIONS.readAccount, failures: ['unprocessable'] },
    handler: async ({ actor, query }) => {
      const isOfAll = query.user === 'all';
      if (isOfAll) await checkOperator(deps.pool, actor.userId, 'readUsers');
      const sessions = await listSessions(deps.pool, isOfAll ? null : actor.userId, query.limit ?? DEFAULT_LIMIT);
      return { terminals: sessions.map(toTerminalSession) };
    },
  });

  app.delete('/v2/account/terminals/:id', {
    schema: {
      operationId: 'endTerminal',
      summary: 'End a terminal session',
      description: 'Podyard only. Admins can end those of all users. Its program is killed.',
      tags: ['podyard'],
      params: TerminalParams,
      response: { 204: noContent('It is about to end.') },
    },
    config: { permission: PERMISSIONS.endTerminal, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, endTerminal, { id: params.id as TerminalId });
      return reply.code(204).send();
    },
  });
};

function toTerminalRequest(body: Static<typeof CreatePodTerminalRequest>): TerminalRequest {
  const { command = SHELL, terminal = DEFAULT_SIZE, input = true } = body;
  return { command, size: terminal, hasInput: input };
}

function toTerminalSession(session: TerminalSession): Static<typeof TerminalSessionResponse> {
  const { createdAt, openedAt, endedAt, ...rest } = session;
  return {
    ...rest,
    createdAt: createdAt.toISOString(),
    openedAt: openedAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
  };
}

/** `publicUrl`: of the API as the client reaches it. */
function toTerminalTicket(
  publicUrl: string,
  { session, ticket }: { session: TerminalSession; ticket: string },
): Static<typeof TerminalTicket> {
  return {
    session: toTerminalSession(session),
    url: `${publicUrl.replace(/^http/, 'ws')}${CONNECT_PATH}`,
    protocols: [TERMINAL_PROTOCOL, `${TICKET_PROTOCOL}${ticket}`],
  };
}

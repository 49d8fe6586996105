import { change } from '../../domain/change.ts';
import {
  createDestination,
  deleteDestination,
  getDestination,
  listVisibleDeliveries,
  listVisibleDestinations,
  testDestination,
  updateDestination,
} from '../../domain/notices/change-destination.ts';
import type { ListedDestination } from '../../domain/notices/destination-store.ts';
import type { DestinationId } from '../../domain/notices/notice.ts';
import type { Delivery } from '../../domain/notices/outbox.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  CreatedNoticeDestinationResponse,
  CreateNoticeDestinationRequest,
  NoticeDeliveryList,
  NoticeDestinationList,
  NoticeDestinationResponse,
  NoticeParams,
  NoticeQuery,
  NoticeTestResponse,
  UpdateNoticeDestinationRequest,
} from './notice-schemas.ts';

const PATH = '/v2/account/notices';

export const noticeRoutes: RestRoute = (app, deps) => {
  app.get(PATH, {
    schema: {
      operationId: 'listNoticeDestinations',
      summary: 'List where notices go',
      description: 'Podyard only. Without URLs and secrets, which nobody can read again.',
      tags: ['podyard'],
      querystring: NoticeQuery,
      response: { 200: ref(NoticeDestinationList) },
    },
    config: { permission: PERMISSIONS.readAccount, failures: ['unprocessable'] },
    handler: async ({ actor, query }) => {
      const found = await listVisibleDestinations(deps.pool, actor, query.scope === 'INSTALLATION');
      return { destinations: found.map(toResponse) };
    },
  });

  app.post(PATH, {
    schema: {
      operationId: 'createNoticeDestination',
      summary: 'Add where notices go',
      description: 'Podyard only. What holds already is told within a minute. `scope` INSTALLATION is for admins.',
      tags: ['podyard'],
      body: ref(CreateNoticeDestinationRequest),
      response: { 201: ref(CreatedNoticeDestinationResponse) },
    },
    config: { permission: PERMISSIONS.writeAccount },
    handler: async ({ actor, body: { scope, ...body } }, reply) => {
      const input = { ...body, isOfInstallation: scope === 'INSTALLATION' };
      const { id, signing } = await change(deps, actor, createDestination, input);
      const made = toResponse(await getDestination(deps.pool, actor, id));
      return reply.code(201).send({ ...made, signingSecret: signing });
    },
  });

  app.patch(`${PATH}/:id`, {
    schema: {
      operationId: 'updateNoticeDestination',
      summary: 'Change where notices go',
      description: 'Podyard only. Its kind and its scope stay, and what signs a webhook.',
      tags: ['podyard'],
      params: NoticeParams,
      body: ref(UpdateNoticeDestinationRequest),
      response: { 200: ref(NoticeDestinationResponse) },
    },
    config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    handler: async ({ actor, params, body: { enabled, ...body } }) => {
      const id = params.id as DestinationId;
      await change(deps, actor, updateDestination, { id, change: { ...body, isEnabled: enabled } });
      return toResponse(await getDestination(deps.pool, actor, id));
    },
  });

  app.delete(`${PATH}/:id`, {
    schema: {
      operationId: 'deleteNoticeDestination',
      summary: 'Remove where notices go',
      description: 'Podyard only. What waits to be sent there is not sent.',
      tags: ['podyard'],
      params: NoticeParams,
      response: { 204: noContent('Removed.') },
    },
    config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, deleteDestination, { id: params.id as DestinationId });
      return reply.code(204).send();
    },
  });

  app.post(`${PATH}/:id/test`, {
    schema: {
      operationId: 'testNoticeDestination',
      summary: 'Send a test',
      description: 'Podyard only. Sends a notice that says that it is a test, and returns the answer. Ten an hour.',
      tags: ['podyard'],
      params: NoticeParams,
      response: { 200: ref(NoticeTestResponse) },
    },
    config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    handler: async ({ actor, params }) => {
      const error = await testDestination(deps, actor, params.id as DestinationId, deps.closing);
      return { delivered: error === null, error };
    },
  });

  app.get(`${PATH}/:id/deliveries`, {
    schema: {
      operationId: 'listNoticeDeliveries',
      summary: 'List messages to a destination',
      description: 'Podyard only. Returns the newest messages, with what became of them.',
      tags: ['podyard'],
      params: NoticeParams,
      response: { 200: ref(NoticeDeliveryList) },
    },
    config: { permission: PERMISSIONS.readAccount, failures: ['notFound'] },
    handler: async ({ actor, params }) => {
      const found = await listVisibleDeliveries(deps.pool, actor, params.id as DestinationId);
      return { deliveries: found.map(toDelivery) };
    },
  });
};

function toResponse({ userId, isEnabled, createdAt, lastSentAt, ...destination }: ListedDestination) {
  return {
    ...destination,
    scope: userId === null ? ('INSTALLATION' as const) : ('ACCOUNT' as const),
    enabled: isEnabled,
    createdAt: createdAt.toISOString(),
    lastSentAt: lastSentAt?.toISOString() ?? null,
  };
}

function toDelivery({ id, createdAt, items, more, attempts, sentAt, givenUpAt, lastError, dueAt }: Delivery) {
  return {
    ...{ items, more, attempts },
    id: String(id),
    createdAt: createdAt.toISOString(),
    status: sentAt !== null ? ('SENT' as const) : givenUpAt !== null ? ('GIVEN_UP' as const) : ('WAITING' as const),
    sentAt: sentAt?.toISOString() ?? null,
    nextAttemptAt: dueAt?.toISOString() ?? null,
    error: lastError,
  };
}

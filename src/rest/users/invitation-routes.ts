import type { IncomingMessage } from 'node:http';
import type { Static } from 'typebox';
import { Failure, notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { findInvitation } from '../../domain/local-accounts/invitation-store.ts';
import {
  createInvitation,
  DEFAULT_INVITATION_HOURS,
  MAX_INVITATION_HOURS,
  revokeInvitation,
} from '../../domain/local-accounts/invitations.ts';
import { removePassword } from '../../domain/local-accounts/passwords.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { CREATED_AT, type NamedSchemas } from '../shared/example-values.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { closed, dateTime, noContent, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const PATH = '/v2/account/users/:id/invitation';

const CreateInvitationRequest = closed(
  {
    expiresInHours: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_INVITATION_HOURS,
        default: DEFAULT_INVITATION_HOURS,
        description: 'For how many hours the link can be used.',
      }),
    ),
  },
  { $id: 'CreateInvitationRequest', description: 'Podyard only: an invitation to set a password.' },
);

const InvitationResponse = Type.Object(
  { createdAt: dateTime(), expiresAt: dateTime() },
  { $id: 'Invitation', description: 'Podyard only: a link with which a user can set their password, once.' },
);

const CreatedInvitationResponse = Type.Object(
  {
    ...InvitationResponse.properties,
    url: Type.String({ description: 'The link. It is shown only in this response.' }),
  },
  { $id: 'CreatedInvitation', description: 'Podyard only: a new invitation and its link.' },
);

const invitation: Static<typeof InvitationResponse> = { createdAt: CREATED_AT, expiresAt: '2026-11-29T08:15:00.000Z' };

export const INVITATION_SCHEMAS: NamedSchemas = [
  [CreateInvitationRequest, { expiresInHours: 24 }],
  [InvitationResponse, invitation],
  [
    CreatedInvitationResponse,
    {
      ...invitation,
      url: 'https://podyard.example.org/#/invitation/pyi_0000000000000000000000000000000',
    },
  ],
];

export const invitationRoutes: RestRoute = (app, deps) => {
  app.post(PATH, {
    schema: {
      operationId: 'createInvitation',
      summary: 'Invite a user to set a password',
      description:
        'Podyard only, for admins. Returns a link that can be used once; the one before is revoked. Whoever opens it sets ' +
        'a password, also instead of a forgotten one, which ends the user’s sessions. The key or session has to permit ' +
        'everything, as the user will be able to do everything in their account.',
      tags: ['podyard'],
      params: UserParams,
      body: ref(CreateInvitationRequest),
      response: { 201: ref(CreatedInvitationResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body, raw }, reply) => {
      if (!deps.own.isLocalOn) throw new Failure('conflict', 'passwords are switched off in the sign-in file');
      const hours = body.expiresInHours ?? DEFAULT_INVITATION_HOURS;
      const made = await change(deps, actor, createInvitation, { id: params.id as UserId, hours });
      deps.logger.info({ userId: params.id, by: actor.userId }, 'user invited');
      return reply.code(201).send({ ...render(made.invitation), url: urlOf(deps, raw, made.secret) });
    },
  });

  app.get(PATH, {
    schema: {
      operationId: 'getInvitation',
      summary: 'Get a user’s invitation',
      description:
        'Podyard only, for admins. Without its link, which nobody can read. One that was used or has expired is a 404.',
      tags: ['podyard'],
      params: UserParams,
      response: { 200: ref(InvitationResponse) },
    },
    config: { permission: PERMISSIONS.readUsers, operator: 'readUsers', failures: ['notFound'] },
    handler: async ({ params }) => {
      const found = await findInvitation(deps.pool, params.id as UserId);
      if (found === undefined) throw notFound('Invitation');
      return render(found);
    },
  });

  app.delete(PATH, {
    schema: {
      operationId: 'deleteInvitation',
      summary: 'Revoke a user’s invitation',
      description: 'Podyard only, for admins.',
      tags: ['podyard'],
      params: UserParams,
      response: { 204: noContent('Revoked.') },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, revokeInvitation, { id: params.id as UserId });
      return reply.code(204).send();
    },
  });

  app.delete('/v2/account/users/:id/password', {
    schema: {
      operationId: 'removeUserPassword',
      summary: 'Take away a user’s password',
      description:
        'Podyard only, for admins. Passkeys go with it, and the sessions that began with either end. Providers and keys go on. ' +
        'A user without a password is a 404.',
      tags: ['podyard'],
      params: UserParams,
      response: { 204: noContent('Removed.') },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, removePassword, { id: params.id as UserId });
      return reply.code(204).send();
    },
  });
};

/** Behind `#`, so that the secret is in no log of a server or a proxy. */
function urlOf({ publicUrlFor }: RouteDeps, request: IncomingMessage, secret: string): string {
  return `${publicUrlFor(request)}/#/invitation/${secret}`;
}

function render({ createdAt, expiresAt }: { createdAt: Date; expiresAt: Date }): Static<typeof InvitationResponse> {
  return { createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() };
}

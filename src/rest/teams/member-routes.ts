import type { Static } from 'typebox';
import type { UserId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { addMember, updateTeamMember } from '../../domain/teams/change-team.ts';
import { getVisibleTeam } from '../../domain/teams/team-access.ts';
import { listMembers, type Member } from '../../domain/teams/team-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  AddMemberRequest,
  MemberList,
  MemberParams,
  MemberResponse,
  TeamParams,
  UpdateMemberRequest,
} from './team-schemas.ts';

const PATH = '/v2/teams/:id/members';

const toMember = ({ joinedAt, ...member }: Member): Static<typeof MemberResponse> => ({
  ...member,
  joinedAt: joinedAt.toISOString(),
});

export const teamMemberRoutes: RestRoute = (app, deps) => {
  app.get(PATH, {
    schema: {
      operationId: 'listTeamMembers',
      summary: 'List the members of a team',
      description: 'Podyard only, for members and admins.',
      tags: ['podyard'],
      params: TeamParams,
      response: { 200: ref(MemberList) },
    },
    config: { permission: PERMISSIONS.readTeam, failures: ['notFound'] },
    handler: async ({ actor, params }) => {
      const { id } = await getVisibleTeam(deps.pool, actor, params.id as UserId);
      return { members: (await listMembers(deps.pool, id)).map(toMember) };
    },
  });

  app.post(PATH, {
    schema: {
      operationId: 'addTeamMember',
      summary: 'Add a member to a team',
      description: 'Podyard only, for its owners and admins. They may act for the team at once.',
      tags: ['podyard'],
      params: TeamParams,
      body: ref(AddMemberRequest),
      response: { 201: ref(MemberResponse) },
    },
    config: { permission: PERMISSIONS.writeTeam, failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }, reply) => {
      const input = { id: params.id as UserId, userId: body.userId as UserId, role: body.role };
      return reply.code(201).send(toMember(await change(deps, actor, addMember, input)));
    },
  });

  app.patch(`${PATH}/:userId`, {
    schema: {
      operationId: 'updateTeamMember',
      summary: 'Change a member’s role',
      description:
        'Podyard only, for the team’s owners and admins. What the member has open for the team ends within seconds. The last active owner stays one: 409.',
      tags: ['podyard'],
      params: MemberParams,
      body: ref(UpdateMemberRequest),
      response: { 200: ref(MemberResponse) },
    },
    config: { permission: PERMISSIONS.writeTeam, failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }) => {
      const input = { id: params.id as UserId, userId: params.userId as UserId, role: body.role };
      return toMember((await change(deps, actor, updateTeamMember, input))!);
    },
  });

  app.delete(`${PATH}/:userId`, {
    schema: {
      operationId: 'removeTeamMember',
      summary: 'Remove a member from a team',
      description:
        'Podyard only, for the team’s owners and admins; members may leave. What they have open for the team ends within seconds; keys of the team stay. The last active owner stays: 409.',
      tags: ['podyard'],
      params: MemberParams,
      response: { 204: noContent('Removed.') },
    },
    config: { permission: PERMISSIONS.writeTeam, failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params }, reply) => {
      const input = { id: params.id as UserId, userId: params.userId as UserId, role: null };
      await change(deps, actor, updateTeamMember, input);
      return reply.code(204).send();
    },
  });
};

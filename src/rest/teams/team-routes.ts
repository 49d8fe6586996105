import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createTeam, removeTeam, renameTeam } from '../../domain/teams/change-team.ts';
import { getVisibleTeam, readerOf } from '../../domain/teams/team-access.ts';
import { listTeams, type Team } from '../../domain/teams/team-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import {
  CreateTeamRequest,
  TeamList,
  TeamListQuery,
  TeamParams,
  TeamRemovalQuery,
  TeamResponse,
  UpdateTeamRequest,
} from './team-schemas.ts';

const toTeam = ({ createdAt, ...team }: Team): Static<typeof TeamResponse> => ({
  ...team,
  createdAt: createdAt.toISOString(),
});

export const teamRoutes: RestRoute = (app, deps) => {
  app.get('/v2/teams', {
    schema: {
      operationId: 'listTeams',
      summary: 'List teams',
      description: 'Podyard only. Returns the teams that you are a member of; with `all`, for admins, every team.',
      tags: ['podyard'],
      querystring: TeamListQuery,
      response: { 200: ref(TeamList) },
    },
    config: { permission: PERMISSIONS.readTeam, failures: ['unprocessable'] },
    handler: async ({ actor, query }) => {
      const reader = await readerOf(deps.pool, actor);
      if (query.all && !reader.isOperator) throw new Failure('forbidden', 'access denied');
      const teams = await listTeams(deps.pool, { ...reader, isOperator: query.all === true });
      return { teams: teams.map(toTeam) };
    },
  });

  app.post('/v2/teams', {
    schema: {
      operationId: 'createTeam',
      summary: 'Create a team',
      description:
        'Podyard only, for admins. A team owns records as a user does, with limits, budgets and keys of its own. Its members act for it with the header `Podyard-Team`.',
      tags: ['podyard'],
      body: ref(CreateTeamRequest),
      response: { 201: ref(TeamResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, body }, reply) => {
      const input = { name: body.name, ownerId: (body.ownerId as UserId | undefined) ?? null };
      return reply.code(201).send(toTeam(await change(deps, actor, createTeam, input)));
    },
  });

  app.get('/v2/teams/:id', {
    schema: {
      operationId: 'getTeam',
      summary: 'Get a team',
      description: 'Podyard only, for its members and admins.',
      tags: ['podyard'],
      params: TeamParams,
      response: { 200: ref(TeamResponse) },
    },
    config: { permission: PERMISSIONS.readTeam, failures: ['notFound'] },
    handler: async ({ actor, params }) => toTeam(await getVisibleTeam(deps.pool, actor, params.id as UserId)),
  });

  app.patch('/v2/teams/:id', {
    schema: {
      operationId: 'updateTeam',
      summary: 'Rename a team',
      description: 'Podyard only, for admins. Ids and URLs stay.',
      tags: ['podyard'],
      params: TeamParams,
      body: ref(UpdateTeamRequest),
      response: { 200: ref(TeamResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }) => {
      const id = params.id as UserId;
      return toTeam(await change(deps, actor, renameTeam, { id, name: body.name }));
    },
  });

  app.delete('/v2/teams/:id', {
    schema: {
      operationId: 'deleteTeam',
      summary: 'Delete a team',
      description:
        'Podyard only, for its owners and admins. 409 while it owns something, unless `handOverTo` names who gets it: for an owner, themselves or another team that they own. Its keys are refused at once; what was used stays in the books.',
      tags: ['podyard'],
      params: TeamParams,
      querystring: TeamRemovalQuery,
      response: { 202: ref(TeamResponse) },
    },
    config: { permission: PERMISSIONS.writeTeam, failures: ['notFound', 'conflict', 'unprocessable'] },
    handler: async ({ actor, params, query }, reply) => {
      const input = { id: params.id as UserId, newOwnerId: (query.handOverTo as UserId | undefined) ?? null };
      return reply.code(202).send(toTeam(await change(deps, actor, removeTeam, input)));
    },
  });
};

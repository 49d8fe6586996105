import { describeTeamRoles, TEAM_ROLES } from '../../domain/access/team-roles.ts';
import { CREATED_AT, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import { closed, dateTime, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const NAME = '^\\S(.*\\S)?$';
const name = () =>
  Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: NAME,
    description: 'Unique among users and teams. No blank at the beginning or the end.',
  });
const role = () => stringEnum(TEAM_ROLES, { description: `${describeTeamRoles((role) => role)}.` });

export const TeamResponse = Type.Object(
  {
    id: Type.String({ description: 'What `Podyard-Team` names, and whose id budgets, costs and limits have.' }),
    name: Type.String(),
    status: stringEnum(['ACTIVE', 'SUSPENDED', 'DELETING'], {
      description: 'SUSPENDED and DELETING: nobody acts for it, and its keys are refused.',
    }),
    role: Type.Union([role(), Type.Null()], { description: 'What you are in it. Null: no member.' }),
    members: Type.Integer({ minimum: 0 }),
    createdAt: dateTime(),
  },
  { $id: 'Team', description: 'Podyard only: an account that people share.' },
);

export const TeamList = Type.Object(
  { teams: Type.Array(ref(TeamResponse)) },
  { $id: 'TeamList', description: 'Podyard only: teams, by name.' },
);

export const CreateTeamRequest = closed(
  {
    name: name(),
    ownerId: Type.Optional(Type.String({ description: 'Id of the user who is its first owner. Absent: you.' })),
  },
  { $id: 'CreateTeamRequest', description: 'Podyard only: a new team.' },
);

export const UpdateTeamRequest = closed(
  { name: name() },
  { $id: 'UpdateTeamRequest', description: 'Podyard only: the new name of a team.' },
);

export const MemberResponse = Type.Object(
  {
    userId: Type.String(),
    name: Type.String(),
    role: role(),
    isSuspended: Type.Boolean({ description: 'The person’s own account is suspended: they cannot act for the team.' }),
    joinedAt: dateTime(),
  },
  { $id: 'TeamMember', description: 'Podyard only: a member of a team.' },
);

export const MemberList = Type.Object(
  { members: Type.Array(ref(MemberResponse)) },
  { $id: 'TeamMemberList', description: 'Podyard only: members, in the order in which they joined.' },
);

export const AddMemberRequest = closed(
  { userId: Type.String({ description: 'Id of the person: `getAccount` shows them their own.' }), role: role() },
  { $id: 'AddTeamMemberRequest', description: 'Podyard only: a new member.' },
);

export const UpdateMemberRequest = closed(
  { role: role() },
  { $id: 'UpdateTeamMemberRequest', description: 'Podyard only: a member’s new role.' },
);

export const TeamParams = Type.Object({ id: Type.String({ description: 'Team identifier.' }) });
export const MemberParams = Type.Object({
  id: Type.String({ description: 'Team identifier.' }),
  userId: Type.String({ description: 'User identifier.' }),
});
export const TeamListQuery = Type.Object({
  all: Type.Optional(Type.Boolean({ default: false, description: 'For admins and auditors: every team.' })),
});
export const TeamRemovalQuery = Type.Object({
  handOverTo: Type.Optional(
    Type.String({ description: 'Id of the user or team that gets everything. Absent: the team must own nothing.' }),
  ),
});

const team = {
  id: 't5x8v2b4n6m1qa',
  name: 'vision',
  status: 'ACTIVE',
  role: 'OWNER',
  members: 4,
  createdAt: CREATED_AT,
};
const member = { userId: USER_ID, name: 'alice', role: 'DEVELOPER', isSuspended: false, joinedAt: CREATED_AT };

export const TEAM_SCHEMAS: NamedSchemas = [
  [TeamResponse, team],
  [TeamList, { teams: [team] }],
  [CreateTeamRequest, { name: 'vision' }],
  [UpdateTeamRequest, { name: 'vision' }],
  [MemberResponse, member],
  [MemberList, { members: [member] }],
  [AddMemberRequest, { userId: USER_ID, role: 'DEVELOPER' }],
  [UpdateMemberRequest, { role: 'OPERATOR' }],
];

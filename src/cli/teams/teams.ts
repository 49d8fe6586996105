import type { TeamRole } from '../../domain/access/roles.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { type Common, type ConfirmOptions, confirmDeletion } from '../shared/command-shape.ts';
import { showRecord, showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

type Team = Schemas['Team'];
type Member = Schemas['TeamMember'];
type OfTeam = Common & { team: string };
type OfMember = OfTeam & { user: string };

const TEAMS: readonly Column<Team>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['ROLE', ({ role }) => role?.toLowerCase() ?? '-'],
  ['MEMBERS', ({ members }) => members],
  ['STATUS', ({ status }) => status.toLowerCase()],
];
const NO_TEAM =
  'You are in no team. An owner adds you by your id, which `podyard teams whoami` shows; an admin creates one: `podyard teams create <name>`.';

export async function listTeams(
  client: ApiClient,
  { all = false, json }: Common & { all?: boolean },
  output: CliOutput,
) {
  const { teams } = await client.call('get', '/v2/teams', { query: { all } });
  showRecords(teams, { columns: TEAMS, none: NO_TEAM }, json, output);
}

export async function showAccount(client: ApiClient, { json }: Common, output: CliOutput): Promise<void> {
  const { id, name, role } = await client.call('get', '/v2/account');
  showRecord({ id, name, role, ...(client.target.team !== undefined && { team: client.target.team }) }, json, output);
}

export async function createTeam(
  client: ApiClient,
  { name, owner, json }: Common & { name: string; owner?: string },
  output: CliOutput,
): Promise<void> {
  const ownerId = owner === undefined ? {} : { ownerId: await findUserId(client, owner) };
  print(await client.call('post', '/v2/teams', { body: { name, ...ownerId } }), json, output);
}

export async function renameTeam(
  client: ApiClient,
  { team, name, json }: OfTeam & { name: string },
  output: CliOutput,
): Promise<void> {
  const { id } = await findTeam(client, team);
  print(await client.call('patch', '/v2/teams/{id}', { path: { id }, body: { name } }), json, output);
}

function print(team: Team, json: boolean | undefined, output: CliOutput): void {
  output.print(json ? jsonText(team) : `${team.id}  ${team.name}`);
}

export async function deleteTeam(
  client: ApiClient,
  options: OfTeam & ConfirmOptions & { handOverTo?: string },
  output: CommandOutput,
): Promise<void> {
  const { id, name } = await findTeam(client, options.team);
  await confirmDeletion(output, { what: `the team ${name} (${id}) for good`, name, id }, options);
  const query = options.handOverTo === undefined ? {} : { handOverTo: options.handOverTo };
  const deleted = await client.call('delete', '/v2/teams/{id}', { path: { id }, query });
  if (options.json) output.print(jsonText(deleted));
  else output.note(`${name} is being deleted, and its keys are refused.`);
}

const MEMBERS: readonly Column<Member>[] = [
  ['ID', ({ userId }) => userId],
  ['NAME', ({ name }) => name],
  ['ROLE', ({ role }) => role.toLowerCase()],
  ['JOINED', ({ joinedAt }) => joinedAt],
  ['STATUS', ({ isSuspended }) => (isSuspended ? 'suspended' : 'active')],
];

export async function listMembers(client: ApiClient, { team, json }: OfTeam, output: CliOutput): Promise<void> {
  showRecords(
    await readMembers(client, (await findTeam(client, team)).id),
    { columns: MEMBERS, none: '' },
    json,
    output,
  );
}

export async function addMember(
  client: ApiClient,
  { team, user, role, json }: OfMember & { role: Lowercase<TeamRole> },
  output: CliOutput,
): Promise<void> {
  const { id } = await findTeam(client, team);
  const body = { userId: await findUserId(client, user), role: role.toUpperCase() as TeamRole };
  showMember(await client.call('post', '/v2/teams/{id}/members', { path: { id }, body }), json, output);
}

export async function updateMember(
  client: ApiClient,
  { team, user, role, json }: OfMember & { role: Lowercase<TeamRole> },
  output: CliOutput,
): Promise<void> {
  const { id } = await findTeam(client, team);
  const path = { id, userId: (await findMember(client, id, user)).userId };
  const body = { role: role.toUpperCase() as TeamRole };
  showMember(await client.call('patch', '/v2/teams/{id}/members/{userId}', { path, body }), json, output);
}

export async function removeMember(
  client: ApiClient,
  options: OfMember & ConfirmOptions,
  output: CommandOutput,
): Promise<void> {
  const team = await findTeam(client, options.team);
  const { userId, name } = await findMember(client, team.id, options.user);
  await confirmDeletion(output, { what: `${name} from the team ${team.name}`, name, id: userId }, options);
  await client.call('delete', '/v2/teams/{id}/members/{userId}', { path: { id: team.id, userId } });
  if (options.json) output.print(jsonText({ userId, name, removed: true }));
  else output.note(`${name} is no longer in ${team.name}.`);
}

function showMember(member: Member, json: boolean | undefined, output: CliOutput): void {
  if (json) output.print(jsonText(member));
  else output.note(`${member.name} is ${member.role.toLowerCase()} of the team.`);
}

/** One of the caller's own teams, or for admins any. */
async function findTeam(client: ApiClient, nameOrId: string): Promise<Team> {
  const find = async (all: boolean) => {
    const { teams } = await client.call('get', '/v2/teams', { query: { all } });
    return teams.find(({ id }) => id === nameOrId) ?? teams.find(({ name }) => name === nameOrId);
  };
  const found = (await find(false)) ?? (await unlessRefused(find(true)));
  if (!found) throw new ApiRefusal(404, `there is no team '${nameOrId}' of yours: \`podyard teams\` lists them`);
  return found;
}

async function findMember(client: ApiClient, teamId: string, nameOrId: string): Promise<Member> {
  const members = await readMembers(client, teamId);
  const found = members.find(({ userId }) => userId === nameOrId) ?? members.find(({ name }) => name === nameOrId);
  if (!found) throw new ApiRefusal(404, `'${nameOrId}' is not a member of the team`);
  return found;
}

async function readMembers(client: ApiClient, id: string): Promise<Member[]> {
  return (await client.call('get', '/v2/teams/{id}/members', { path: { id } })).members;
}

/** Admins may name people; everybody else knows no more than an id. */
async function findUserId(client: ApiClient, nameOrId: string): Promise<string> {
  const query = { search: nameOrId.slice(0, 200), limit: 1000 };
  const page = await unlessRefused(client.call('get', '/v2/account/users', { query }));
  return page?.users.find(({ name }) => name === nameOrId)?.userId ?? nameOrId;
}

async function unlessRefused<T>(request: Promise<T>): Promise<T | undefined> {
  return request.catch((error: unknown) => {
    if (error instanceof ApiRefusal && error.status === 403) return undefined;
    throw error;
  });
}

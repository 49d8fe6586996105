/** The commands about teams and their members. `--team`, which every command has, acts for one. */
import { type Command, Option } from 'commander';
import { describeTeamRoles, TEAM_ROLES, type TeamRole } from '../../domain/access/team-roles.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addConfirm,
  type Common,
  type ConfirmOptions,
  connect,
  requireConfirmable,
} from '../shared/command-shape.ts';

const teams = () => import('./teams.ts');
const TEAM = 'name or id of the team';
const USER = 'id of the person, which `podyard teams whoami` shows them; for admins also their name';

export function addTeams(program: Command, pieces: CliPieces): void {
  const parent = program.command('teams').description('manage teams: accounts that people share, each with a role');
  addCommon(parent.command('list', { isDefault: true }).alias('ls'))
    .description('list your teams with your role in each')
    .option('--all', 'every team, for admins')
    .action(async (options: Common & { all?: boolean }) =>
      (await teams()).listTeams(await connect(pieces, options), options, pieces),
    );
  addCommon(parent.command('whoami'))
    .description('show for which account commands act, and your id, by which owners add you to their teams')
    .action(async (options: Common) => (await teams()).showAccount(await connect(pieces, options), options, pieces));
  addCommon(parent.command('create'))
    .description('create a team, as an admin, and print its id')
    .argument('<name>', 'name of the team; no user or other team has it')
    .option('--owner <user>', 'name or id of its first owner (default: you)')
    .action(async (name: string, options: Common & { owner?: string }) =>
      (await teams()).createTeam(await connect(pieces, options), { ...options, name }, pieces),
    );
  addCommon(parent.command('rename'))
    .description('rename a team, as an admin; ids and URLs stay')
    .argument('<team>', TEAM)
    .argument('<name>', 'the new name')
    .action(async (team: string, name: string, options: Common) =>
      (await teams()).renameTeam(await connect(pieces, options), { ...options, team, name }, pieces),
    );
  addConfirm(addCommon(parent.command('delete')))
    .description('delete a team that owns nothing, or hand over what it owns')
    .argument('<team>', TEAM)
    .option('--hand-over-to <account>', 'id of the user or team that gets everything but the keys')
    .action(async (team: string, options: Common & ConfirmOptions & { handOverTo?: string }) => {
      requireConfirmable(pieces, options);
      await (await teams()).deleteTeam(await connect(pieces, options), { ...options, team }, pieces);
    });
  addMembers(parent, pieces);
}

function addMembers(parent: Command, pieces: CliPieces): void {
  addCommon(parent.command('members'))
    .description('list the members of a team')
    .argument('<team>', TEAM)
    .action(async (team: string, options: Common) =>
      (await teams()).listMembers(await connect(pieces, options), { ...options, team }, pieces),
    );
  addRole(addCommon(parent.command('add')), 'viewer')
    .description('add a person to a team')
    .argument('<team>', TEAM)
    .argument('<user>', USER)
    .action(async (team: string, user: string, options: Common & { role: Lower<TeamRole> }) =>
      (await teams()).addMember(await connect(pieces, options), { ...options, team, user }, pieces),
    );
  addRole(addCommon(parent.command('update')))
    .description('change a member’s role; what they have open for the team ends')
    .argument('<team>', TEAM)
    .argument('<user>', 'name or id of the member')
    .action(async (team: string, user: string, options: Common & { role: Lower<TeamRole> }) =>
      (await teams()).updateMember(await connect(pieces, options), { ...options, team, user }, pieces),
    );
  addConfirm(addCommon(parent.command('remove')))
    .description('remove a member, or leave a team; keys of the team stay')
    .argument('<team>', TEAM)
    .argument('<user>', 'name or id of the member')
    .action(async (team: string, user: string, options: Common & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      await (await teams()).removeMember(await connect(pieces, options), { ...options, team, user }, pieces);
    });
}

type Lower<T extends string> = Lowercase<T>;

function addRole(command: Command, standard?: Lower<TeamRole>): Command {
  const option = new Option(
    '--role <role>',
    describeTeamRoles((role) => role.toLowerCase()),
  );
  const choices = option.choices(TEAM_ROLES.map((role) => role.toLowerCase()));
  return command.addOption(standard === undefined ? choices.makeOptionMandatory() : choices.default(standard));
}

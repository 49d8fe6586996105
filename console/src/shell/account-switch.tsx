import { UnstyledButton } from '@mantine/core';
import { IconCheck, IconSelector, IconUser, IconUsersGroup } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useNavigate } from 'react-router';
import { teamsQuery } from '../api/queries.ts';
import { switchTeam, useTeam } from '../api/team.ts';
import { hasUnsavedForms } from '../ui/forms/unsaved.ts';
import { notifyError } from '../ui/notify.ts';
import { PopoverMenu } from '../ui/popover-menu.tsx';
import { Name } from '../ui/text/record-name.tsx';
import { visibleText } from '../ui/text/visible-text.ts';

const OWN = 'My own account';

/** Chooses for which account this tab acts, and leads to the members of a team. */
export function AccountSwitch() {
  const team = useTeam();
  const teams = useQuery(teamsQuery).data?.teams ?? [];
  const act = useSwitch();
  const name = useActingName();
  return (
    <PopoverMenu
      label={visibleText(`Act for: ${name}`)}
      place="menu-at-switch"
      className="account-switch"
      button={
        <>
          {team === null ? <IconUser size={16} aria-hidden /> : <IconUsersGroup size={16} aria-hidden />}
          <span className="account-name">
            <Name>{name}</Name>
          </span>
          <IconSelector size={14} aria-hidden />
        </>
      }
    >
      <Choice isChosen={team === null} onChoose={() => act(null)}>
        {OWN}
      </Choice>
      {teams.map(({ id, name }) => (
        <Choice key={id} isChosen={team === id} onChoose={() => act(id)}>
          <Name>{name}</Name>
        </Choice>
      ))}
      <hr className="menu-line" />
      {team !== null && (
        <Link className="menu-item" to={`/teams/${team}`}>
          Members of this team
        </Link>
      )}
      <Link className="menu-item" to="/teams">
        All teams
      </Link>
    </PopoverMenu>
  );
}

/** On a narrow screen, where the switch is out of sight: the team that this tab acts for. */
export function TeamMark() {
  const team = useTeam();
  const name = useActingName();
  return team === null ? null : (
    <span className="team-mark" title={visibleText(name)}>
      <Name>{name}</Name>
    </span>
  );
}

function Choice(props: { isChosen: boolean; onChoose: () => void; children: ReactNode }) {
  return (
    <UnstyledButton className="menu-item" aria-pressed={props.isChosen} onClick={props.onChoose}>
      <span className="account-name">{props.children}</span>
      {props.isChosen && <IconCheck size={15} aria-hidden />}
    </UnstyledButton>
  );
}

/** The name of the account that this tab acts for. A team that is not the reader's has none here. */
function useActingName(): string {
  const team = useTeam();
  const teams = useQuery(teamsQuery).data?.teams;
  return team === null ? OWN : (teams?.find(({ id }) => id === team)?.name ?? 'Another account');
}

/** Returns what acts for another account: null is the reader's own. */
export function useSwitch(): (team: string | null) => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (team) => {
    if (hasUnsavedForms()) return notifyError(new Error('Save or discard the open form first.'));
    switchTeam(team);
    queries.clear(); // what was read is another account's
    navigate('/');
  };
}

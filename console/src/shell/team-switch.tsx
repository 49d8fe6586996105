import { NativeSelect } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { teamsQuery } from '../api/queries.ts';
import { switchTeam, useTeam } from '../api/team.ts';
import { hasUnsavedForms } from '../ui/forms/unsaved.ts';
import { notifyError } from '../ui/notify.ts';
import { visibleText } from '../ui/text/visible-text.ts';

const OWN = '';

/** Chooses for which account this tab acts. Hidden from those without a team, unless the URL names one. */
export function TeamSwitch() {
  const team = useTeam();
  const teams = useQuery(teamsQuery).data?.teams ?? [];
  const queries = useQueryClient();
  const navigate = useNavigate();
  if (teams.length === 0 && team === null) return null;
  const isKnown = team === null || teams.some(({ id }) => id === team);
  const choose = (id: string) => {
    if (hasUnsavedForms()) return notifyError(new Error('Save or discard the open form first.'));
    switchTeam(id === OWN ? null : id);
    queries.clear(); // what was read is another account's
    navigate('/');
  };
  return (
    <NativeSelect
      size="xs"
      maw={180}
      aria-label="Act for"
      value={team ?? OWN}
      onChange={(event) => choose(event.currentTarget.value)}
      data={[
        { value: OWN, label: 'My own account' },
        ...teams.map(({ id, name }) => ({ value: id, label: visibleText(name) })),
        ...(isKnown ? [] : [{ value: team, label: 'Another account' }]),
      ]}
    />
  );
}

import { Group, UnstyledButton } from '@mantine/core';
import { formatNumber } from '../text/format.ts';
import type { StatusLook } from '../text/labels.ts';
import { Status } from '../text/status.tsx';

/** A button for each state that some record has, with how many have it. The chosen one stays when none has it any more. */
export function StateFilter(props: {
  table: Readonly<Record<string, StatusLook>>;
  counts: readonly { state: string; count: number }[];
  /** Empty: all states. */
  chosen: string;
  onChoose: (state: string) => void;
}) {
  const { table, counts, chosen, onChoose } = props;
  const isGone = chosen !== '' && !counts.some(({ state }) => state === chosen);
  return (
    <Group gap={6} w="100%" role="group" aria-label="State">
      {[...counts, ...(isGone ? [{ state: chosen, count: 0 }] : [])].map(({ state, count }) => (
        <UnstyledButton
          key={state}
          className="filter-button"
          aria-pressed={state === chosen}
          onClick={() => onChoose(state === chosen ? '' : state)}
        >
          <Status table={table} value={state} />
          <span className="figure">{formatNumber(count)}</span>
        </UnstyledButton>
      ))}
    </Group>
  );
}

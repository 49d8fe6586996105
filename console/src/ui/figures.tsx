import { Paper, Skeleton, Text } from '@mantine/core';
import { formatNumber } from './text/format.ts';

interface Figure {
  label: string;
  value: number | string | undefined;
  /** Beside the value: `of 50`. */
  note?: string | undefined;
}

/** Key figures in a row, or in the rows that their place needs; undefined shows a placeholder. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <div className="figures">
      {figures.map(({ label, value, note }) => (
        <Paper key={label} withBorder p="sm">
          <Text size="xs" c="dimmed">
            {label}
          </Text>
          {value === undefined ? (
            <Skeleton h={30} w={60} />
          ) : (
            <Text size={isSentence(value) ? 'md' : 'xl'} fw={650} className="figure" lh={isSentence(value) ? 1.6 : 1.3}>
              {typeof value === 'number' ? formatNumber(value) : value}
              {note && (
                <>
                  {' '}
                  <Text span size="xs" c="dimmed" fw={400}>
                    {note}
                  </Text>
                </>
              )}
            </Text>
          )}
        </Paper>
      ))}
    </div>
  );
}

/** A value that would break into lines if it were as large as figures are. */
function isSentence(value: number | string): boolean {
  return typeof value === 'string' && value.length > 16;
}

import { Paper, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatNumber } from './text/format.ts';

/** A framed section with a heading. */
export function Panel({ title, padding, children }: { title: string; padding: 'sm' | 'md'; children: ReactNode }) {
  return (
    <Paper withBorder p={padding}>
      <Title order={2} size="h5" mb="xs">
        {title}
      </Title>
      {children}
    </Paper>
  );
}

interface Figure {
  label: string;
  value: number | string | undefined;
  /** Beside the value: `of 50`. */
  note?: string | undefined;
}

/** Key figures in a row; undefined shows a placeholder. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, md: Math.min(6, figures.length) }} spacing="sm">
      {figures.map(({ label, value, note }) => (
        <Paper key={label} withBorder p="sm">
          <Text size="xs" c="dimmed">
            {label}
          </Text>
          {value === undefined ? (
            <Skeleton h={30} w={60} />
          ) : (
            <Text size="xl" fw={650} className="figure" lh={1.3}>
              {typeof value === 'number' ? formatNumber(value) : value}
              {note && (
                <Text span size="xs" c="dimmed" fw={400} ml={6}>
                  {note}
                </Text>
              )}
            </Text>
          )}
        </Paper>
      ))}
    </SimpleGrid>
  );
}

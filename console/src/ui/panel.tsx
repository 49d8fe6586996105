import { Paper, Title } from '@mantine/core';
import type { ReactNode } from 'react';

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

import { Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { CodeSamples } from '../../../ui/code-samples.tsx';
import type { Sample } from './samples.ts';

/** The box that shows a response, announced by screen readers. */
export function ResponseBox({ children }: { children: ReactNode }) {
  return (
    <Paper withBorder p="md" aria-live="polite" mih={150}>
      {children}
    </Paper>
  );
}

/** The call of a panel as code. */
export function CallSamples({ samples }: { samples: readonly Sample[] }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h5" mb="xs">
        Code
      </Title>
      <CodeSamples samples={samples} />
      <Text size="xs" c="dimmed" mt="xs">
        Set PODYARD_KEY to your API key.
      </Text>
    </Paper>
  );
}

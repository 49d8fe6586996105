import { Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** Words that explain what is beside them. */
export function Hint({ size = 'sm', children }: { size?: 'xs' | 'sm'; children: ReactNode }) {
  return (
    <Text size={size} c="dimmed">
      {children}
    </Text>
  );
}

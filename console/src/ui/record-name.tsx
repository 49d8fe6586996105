import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';

/** A record's name in the first column of a list. `title` appears when the pointer rests on it. */
export function RecordName({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <Text size="sm" fw={550} title={title}>
      {children}
    </Text>
  );
}

/** A record's name as a link, in a row that is a link itself. */
export function RecordLink({ to, name }: { to: string; name: string }) {
  return (
    <Text component={Link} to={to} size="sm" c="inherit" fw={550} onClick={(event) => event.stopPropagation()}>
      {name}
    </Text>
  );
}

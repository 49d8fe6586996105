import { Text } from '@mantine/core';
import { Link } from 'react-router';

/** A record's name as a link, in a row that is a link itself. */
export function RecordLink({ to, name }: { to: string; name: string }) {
  return (
    <Text component={Link} to={to} c="inherit" fw={550} onClick={(event) => event.stopPropagation()}>
      {name}
    </Text>
  );
}

import { Badge } from '@mantine/core';
import { useReach } from '../api/server-connection.ts';

/** Says whether a live view receives events. */
export function LiveBadge({ isOpen }: { isOpen: boolean }) {
  const { isLost } = useReach();
  return (
    <Badge variant="dot" color={isOpen && !isLost ? 'green' : 'gray'} tt="none">
      {isLost ? 'Reconnecting…' : isOpen ? 'Live' : 'Connecting…'}
    </Badge>
  );
}

import { Badge } from '@mantine/core';

/** Whether a live view receives events. */
export function LiveBadge({ isOpen }: { isOpen: boolean }) {
  return (
    <Badge variant="dot" color={isOpen ? 'green' : 'gray'} tt="none">
      {isOpen ? 'Live' : 'Connecting…'}
    </Badge>
  );
}

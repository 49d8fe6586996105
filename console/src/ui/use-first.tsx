import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';

/** Returns the first of many items, and a button that shows all of them; null where there are no more. */
export function useFirst<Item>(items: readonly Item[], count: number): [shown: readonly Item[], more: ReactNode] {
  const [isAll, setAll] = useState(false);
  if (isAll || items.length <= count) return [items, null];
  const more = (
    <Button variant="subtle" size="compact-sm" w="max-content" onClick={() => setAll(true)}>
      Show all {items.length}
    </Button>
  );
  return [items.slice(0, count), more];
}

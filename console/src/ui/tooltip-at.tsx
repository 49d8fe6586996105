import { Tooltip } from '@mantine/core';
import type { RefObject } from 'react';

/** A tooltip that is shown at an element. Loaded at the first hover. */
export function TooltipAt({ label, target }: { label: string; target: RefObject<HTMLElement | null> }) {
  return <Tooltip opened label={label} target={target} />;
}

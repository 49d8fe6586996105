import { Tooltip } from '@mantine/core';
import type { RefObject } from 'react';

/** A tooltip that is shown at an element. A script of its own: it is not needed before somebody points at something. */
export function TooltipAt({ label, target }: { label: string; target: RefObject<HTMLElement | null> }) {
  return <Tooltip opened label={label} target={target} />;
}

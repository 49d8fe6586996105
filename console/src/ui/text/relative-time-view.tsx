import { Suspense, useRef, useState, useSyncExternalStore } from 'react';
import { lazyPart } from '../lazy-part.ts';
import { NO_VALUE } from './format.ts';
import { exactTime, relativeTime } from './relative-time.ts';
import { clock } from './ticking-clock.ts';

const TooltipAt = lazyPart(() => import('../tooltip-at.tsx'), 'TooltipAt');

/**
 * A time as its distance from now, which keeps itself up to date; the exact time while it is hovered or has the focus.
 * `at` is an ISO string or milliseconds.
 */
export function RelativeTime({ at }: { at: string | number | null | undefined }) {
  return at === null || at === undefined || at === '' ? NO_VALUE : <Time atMs={new Date(at).getTime()} />;
}

function Time({ atMs }: { atMs: number }) {
  // The snapshot is the text: a tick renders only the times whose text changes.
  const text = useSyncExternalStore(clock.subscribe, () => relativeTime(atMs, clock.now()));
  const element = useRef<HTMLTimeElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <time
        ref={element}
        className="time"
        dateTime={new Date(atMs).toISOString()}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach the exact time
        tabIndex={0}
        onPointerEnter={() => setOpen(true)}
        onPointerLeave={() => setOpen(false)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={({ key }) => key === 'Escape' && setOpen(false)}
      >
        {text}
      </time>
      {/* Rendered only while it is needed: a thousand idle tooltips would slow a list down. */}
      {isOpen && (
        <Suspense>
          <TooltipAt label={exactTime(atMs)} target={element} />
        </Suspense>
      )}
    </>
  );
}

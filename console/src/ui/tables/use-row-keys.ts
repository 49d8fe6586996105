import { type KeyboardEvent, type RefObject, useEffect, useRef } from 'react';

/**
 * Moves the focus between the rows of a table: j and k from anywhere on the page but a field or a dialog, arrows, Home and End
 * within the table. The focus is on the row's first link, so Enter opens it. Returns the table's handler.
 */
export function useRowKeys(table: {
  scroller: RefObject<HTMLElement | null>;
  count: number;
  /** Scrolls a row into view. */
  show: (index: number) => void;
}): (event: KeyboardEvent) => void {
  const latest = useRef(table);
  latest.current = table;

  useEffect(() => {
    function onKey(event: globalThis.KeyboardEvent) {
      const isElsewhere = event.target instanceof Element && event.target.closest(FIELDS) !== null;
      if (isElsewhere || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'j' || event.key === 'k') move(event, latest.current);
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);

  return (event) => {
    if (['ArrowDown', 'ArrowUp', 'Home', 'End'].includes(event.key)) move(event.nativeEvent, latest.current);
  };
}

const FIELDS = 'input, textarea, select, [contenteditable], [role=dialog], [role=listbox]';
/** The row may have to be rendered first. */
const FRAMES = 10;

function move(event: globalThis.KeyboardEvent, { scroller, count, show }: Parameters<typeof useRowKeys>[0]): void {
  const row = document.activeElement?.closest<HTMLElement>('[data-row]');
  const index = nextRow(event.key, row && scroller.current?.contains(row) ? Number(row.dataset.row) : null, count);
  if (index === null) return;
  event.preventDefault();
  show(index);
  focusRow(scroller.current, index, FRAMES);
}

function focusRow(scroller: HTMLElement | null, index: number, frames: number): void {
  const link = scroller?.querySelector<HTMLElement>(`[data-row="${index}"] a`);
  if (link) link.focus({ preventScroll: true });
  else if (frames > 0) requestAnimationFrame(() => focusRow(scroller, index, frames - 1));
}

/** Returns the row that a key moves to from `current` (null: none has the focus); null if the key moves nowhere. */
export function nextRow(key: string, current: number | null, count: number): number | null {
  if (count === 0) return null;
  const last = count - 1;
  switch (key) {
    case 'j':
    case 'ArrowDown':
      return current === null ? 0 : Math.min(last, current + 1);
    case 'k':
    case 'ArrowUp':
      return current === null ? 0 : Math.max(0, current - 1);
    case 'Home':
      return 0;
    case 'End':
      return last;
    default:
      return null;
  }
}

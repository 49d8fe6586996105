import { Button, Group, Text } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import type { LogLine } from './log-buffer.ts';
import { isAtEnd, plainText, splitMatches, timeOfLine } from './log-text.ts';
import type { LogState } from './use-log.ts';

const ROW_PX = 20;

interface LogBoxProps {
  log: LogState;
  /** What is marked in the lines. */
  marked: string;
  isWrapped: boolean;
  hasWorkers: boolean;
  isFollowing: boolean;
  onFollow: (isFollowing: boolean) => void;
  /** In place of lines, while there are none. */
  empty: string;
}

/** The lines of a log. Only those in view are rendered, each once: a line never changes. */
export function LogBox(props: LogBoxProps) {
  const { log, isFollowing, onFollow, isWrapped, empty } = props;
  const { lines } = log;
  const box = useRef<HTMLDivElement>(null);
  const known = useRef(lines);
  known.current = lines;
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    getItemKey: useCallback((index: number) => known.current[index]!.id, []),
    overscan: 20,
  });
  useKeptPlace(lines, box, isFollowing);
  useEffect(() => log.buffer.follow(isFollowing), [log.buffer, isFollowing]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines that wrap have other heights
  useEffect(() => rows.measure(), [isWrapped]);
  const nowMs = Date.now();
  return (
    <div
      ref={box}
      className="log"
      role="log"
      aria-label="Log"
      aria-live="off"
      data-wrapped={isWrapped || undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it
      tabIndex={0}
      onScroll={({ currentTarget }) => onFollow(isAtEnd(currentTarget))}
    >
      <OlderLines log={log} />
      {lines.length === 0 && (
        <Text size="xs" c="dimmed">
          {empty}
        </Text>
      )}
      <div className="log-rows" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ key, index, start }) => (
          <div
            key={key}
            data-index={index}
            ref={isWrapped ? rows.measureElement : undefined}
            className="log-row"
            style={{ transform: `translateY(${start}px)` }}
          >
            <Line
              line={lines[index]!}
              marked={props.marked}
              worker={props.hasWorkers ? lines[index]!.workerId : null}
              time={timeOfLine(lines[index]!.ts, nowMs)}
            />
          </div>
        ))}
      </div>
    </div>
  );
}

/** Stays at the end while following; else keeps the line in view when lines come before it. */
function useKeptPlace(lines: readonly LogLine[], box: { current: HTMLDivElement | null }, isFollowing: boolean) {
  const first = useRef<string | null>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const before = first.current === null ? 0 : lines.findIndex(({ id }) => id === first.current);
    first.current = lines[0]?.id ?? null;
    if (isFollowing) element.scrollTop = element.scrollHeight;
    else if (before > 0) element.scrollTop += before * ROW_PX;
  }, [lines, box, isFollowing]);
}

function OlderLines({ log: { older, keptSince } }: { log: LogState }) {
  if (!older) {
    if (keptSince === null) return null;
    return (
      <Text size="xs" c="dimmed" mb={4}>
        Lines from before {new Date(keptSince).toLocaleString()} have been removed.
      </Text>
    );
  }
  const at = older.searchedTo && new Date(older.searchedTo).toLocaleString();
  return (
    <Group gap="xs" mb={4}>
      <Button size="compact-xs" variant="default" loading={older.isLoading} onClick={older.load}>
        {at ? 'Search further back' : 'Load older lines'}
      </Button>
      {at && (
        <Text size="xs" c="dimmed">
          Searched back to {at}.
        </Text>
      )}
    </Group>
  );
}

interface LineProps {
  line: LogLine;
  marked: string;
  worker: string | null;
  time: string;
}

const Line = memo(function Line({ line, marked, worker, time }: LineProps) {
  return (
    <span className="log-line" data-level={line.level ?? undefined} data-source={line.source}>
      <span className="log-time" title={line.ts}>
        {time}
      </span>{' '}
      {worker && <span className="log-worker">{worker} </span>}
      {splitMatches(plainText(line.line), marked).map(({ text, isMatch }, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a line never changes
        isMatch ? <mark key={index}>{text}</mark> : text,
      )}
    </span>
  );
});

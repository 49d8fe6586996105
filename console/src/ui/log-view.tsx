import { Button, Group, SegmentedControl, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useEvents } from '../api/events.ts';
import { LiveBadge } from './live-badge.tsx';
import { appendLine, isAtEnd, type LogLine, type LogSource, logPath, timeOfLine } from './log-lines.ts';

/** A live log that follows its end until the reader scrolls up. */
export function LogView({ path }: { path: string }) {
  const [source, setSource] = useState<LogSource>('all');
  const [isFollowing, setFollowing] = useState(true);
  const { lines, isOpen } = useLogLines(logPath(path, source));
  return (
    <div>
      <Group justify="space-between" mb="xs">
        <SegmentedControl
          size="xs"
          aria-label="Source"
          value={source}
          onChange={(value) => setSource(value as LogSource)}
          data={[
            { value: 'all', label: 'All' },
            { value: 'container', label: 'Container' },
            { value: 'system', label: 'System' },
          ]}
        />
        <Group gap="xs">
          {!isFollowing && (
            <Button size="compact-xs" variant="light" onClick={() => setFollowing(true)}>
              Jump to latest
            </Button>
          )}
          <LiveBadge isOpen={isOpen} />
        </Group>
      </Group>
      <LogBox lines={lines} isFollowing={isFollowing} onFollow={setFollowing} />
    </div>
  );
}

function useLogLines(path: string): { lines: readonly LogLine[]; isOpen: boolean } {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another log starts empty
  useEffect(() => setLines([]), [path]);
  const isOpen = useEvents(path, (data) => setLines((known) => appendLine(known, JSON.parse(data) as LogLine)));
  return { lines, isOpen };
}

function LogBox(props: { lines: readonly LogLine[]; isFollowing: boolean; onFollow: (isFollowing: boolean) => void }) {
  const { lines, isFollowing, onFollow } = props;
  const box = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new line scrolls
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, isFollowing]);
  return (
    <div
      ref={box}
      className="log"
      role="log"
      aria-label="Log"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it
      tabIndex={0}
      onScroll={({ currentTarget }) => onFollow(isAtEnd(currentTarget))}
    >
      {lines.length === 0 && (
        <Text size="xs" c="dimmed">
          No logs yet.
        </Text>
      )}
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are only appended
        <div key={index} className={line.source === 'system' ? 'log-system' : undefined}>
          <span className="log-time">{timeOfLine(line)} </span>
          {line.line}
        </div>
      ))}
    </div>
  );
}

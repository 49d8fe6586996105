import { Badge, Button, Group, SegmentedControl, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useEvents } from '../api/events.ts';

interface LogLine {
  source: 'container' | 'system';
  line: string;
  ts: string;
}

const MAX_LINES = 5_000;
/** So close to the end counts as at the end. */
const NEAR_PX = 40;

/** A log that follows, until the reader scrolls up to look at something. */
export function LogView({ path }: { path: string }) {
  const [source, setSource] = useState<'all' | 'container' | 'system'>('all');
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const address = `${path}?tail=500${source === 'all' ? '' : `&source=${source}`}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another log begins empty
  useEffect(() => setLines([]), [address]);
  const isOpen = useEvents(address, (data) => {
    const line = JSON.parse(data) as LogLine;
    setLines((known) => [...(known.length >= MAX_LINES ? known.slice(1) : known), line]);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new line moves the view
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, isFollowing]);
  return (
    <div>
      <Group justify="space-between" mb="xs">
        <SegmentedControl
          size="xs"
          aria-label="Source"
          value={source}
          onChange={(value) => setSource(value as typeof source)}
          data={[
            { value: 'all', label: 'Everything' },
            { value: 'container', label: 'Container' },
            { value: 'system', label: 'System' },
          ]}
        />
        <Group gap="xs">
          {!isFollowing && (
            <Button size="compact-xs" variant="light" onClick={() => setFollowing(true)}>
              Follow
            </Button>
          )}
          <Badge variant="dot" color={isOpen ? 'green' : 'gray'} tt="none">
            {isOpen ? 'live' : 'connecting'}
          </Badge>
        </Group>
      </Group>
      <div
        ref={box}
        className="log"
        role="log"
        aria-label="Log"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
          setFollowing(scrollHeight - scrollTop - clientHeight < NEAR_PX)
        }
      >
        {lines.length === 0 && (
          <Text size="xs" c="dimmed">
            Nothing was logged yet.
          </Text>
        )}
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines only ever come at the end
          <div key={index} className={line.source === 'system' ? 'log-system' : undefined}>
            <span className="log-time">{line.ts.slice(11, 23)} </span>
            {line.line}
          </div>
        ))}
      </div>
    </div>
  );
}

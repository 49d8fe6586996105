import './logs.css';
import { Button, CopyButton, Group, Text } from '@mantine/core';
import { IconCheck, IconChevronDown, IconChevronRight, IconCopy } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { shortId } from '../../../../src/core/text/short-id.ts';
import { Hint } from '../../ui/hint.tsx';
import { formatCount } from '../text/format.ts';
import { visibleText } from '../text/visible-text.ts';
import type { LogLine } from './log-buffer.ts';
import {
  isAtEnd,
  OPEN_UP_TO,
  plainText,
  recordOf,
  type ShownRecord,
  splitMatches,
  textOf,
  timeOfLine,
} from './log-record.ts';
import type { LogState } from './use-log.ts';

const ROW_PX = 20;

interface LogBoxProps {
  log: LogState;
  /** Text that is marked in the lines. */
  marked: string;
  isWrapped: boolean;
  hasWorkers: boolean;
  /** The page of the jobs that lines name; null: they belong to none. */
  jobsPath: string | null;
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
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const isFolded = (line: LogLine) => turned.has(line.id) !== (recordOf(line)?.lines.length ?? 1) > OPEN_UP_TO;
  const heightOf = (line: LogLine) => ROW_PX * (isFolded(line) ? 1 : (recordOf(line)?.lines.length ?? 1));
  const fold = useCallback((id: string) => {
    setTurned((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => heightOf(known.current[index]!),
    getItemKey: useCallback((index: number) => known.current[index]!.id, []),
    overscan: 20,
  });
  useKeptPlace(lines, box, isFollowing, heightOf);
  useEffect(() => log.buffer.follow(isFollowing), [log.buffer, isFollowing]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines that wrap or are folded have other heights
  useLayoutEffect(() => rows.measure(), [isWrapped, turned]);
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
      {lines.length === 0 && <Hint size="xs">{empty}</Hint>}
      <div className="log-rows" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ key, index, start }) => (
          <div
            key={key}
            data-index={index}
            ref={isWrapped ? rows.measureElement : undefined}
            className="log-row"
            style={{ transform: `translateY(${start}px)` }}
          >
            <LogLineView
              line={lines[index]!}
              marked={props.marked}
              jobsPath={props.jobsPath}
              worker={props.hasWorkers ? lines[index]!.workerId : null}
              time={timeOfLine(lines[index]!.ts, nowMs)}
              isFolded={isFolded(lines[index]!)}
              onFold={fold}
            />
          </div>
        ))}
      </div>
    </div>
  );
}

/** Stays at the end while following; else keeps the line in view when lines come before it. */
function useKeptPlace(
  lines: readonly LogLine[],
  box: { current: HTMLDivElement | null },
  isFollowing: boolean,
  heightOf: (line: LogLine) => number,
) {
  const first = useRef<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights are those of the lines
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const before = first.current === null ? 0 : lines.findIndex(({ id }) => id === first.current);
    first.current = lines[0]?.id ?? null;
    if (isFollowing) element.scrollTop = element.scrollHeight;
    else if (before > 0) element.scrollTop += lines.slice(0, before).reduce((sum, line) => sum + heightOf(line), 0);
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
      {at && <Hint size="xs">Searched back to {at}.</Hint>}
    </Group>
  );
}

interface LogLineViewProps {
  line: LogLine;
  marked: string;
  jobsPath: string | null;
  worker: string | null;
  time: string;
  isFolded: boolean;
  onFold: (id: string) => void;
}

/** A line of a log; a logger's line of JSON is what it says, with a traceback below it, or folded. */
const LogLineView = memo(function LogLineView(props: LogLineViewProps) {
  const { line, marked, worker, time } = props;
  const shown = recordOf(line);
  const level = line.level ?? shown?.record.level;
  return (
    <div className="log-line" data-level={level} data-source={line.source}>
      <span className="log-time" title={line.ts}>
        {time}
      </span>{' '}
      {worker && <span className="log-worker">{worker} </span>}
      {shown === null ? (
        <Marked text={plainText(line.line)} marked={marked} />
      ) : (
        <RecordView {...props} shown={shown} />
      )}
    </div>
  );
});

function RecordView(props: LogLineViewProps & { shown: ShownRecord }) {
  const { marked, shown, jobsPath } = props;
  const { record, lines } = shown;
  return (
    <>
      {lines.length > 1 && <FoldButton {...props} />}
      {record.level !== null && <span className="log-level">{record.level} </span>}
      {record.jobId !== null && <JobName id={record.jobId} marked={marked} jobsPath={jobsPath} />}
      <Marked text={lines[0]!} marked={marked} /> {lines.length > 1 && <RestOfRecord {...props} />}
    </>
  );
}

function FoldButton({ line, shown: { lines }, isFolded, onFold }: LogLineViewProps & { shown: ShownRecord }) {
  const Chevron = isFolded ? IconChevronRight : IconChevronDown;
  return (
    <button
      type="button"
      className="log-button"
      aria-expanded={!isFolded}
      aria-label={`${formatCount(lines.length, 'line')}: ${visibleText(lines[0]!)}`}
      onClick={() => onFold(line.id)}
    >
      <Chevron size={14} aria-hidden />
    </button>
  );
}

function RestOfRecord({ shown, marked, isFolded }: LogLineViewProps & { shown: ShownRecord }) {
  const { lines } = shown;
  return (
    <>
      {isFolded && <span className="log-time">{formatCount(lines.length, 'line')}</span>}
      <CopyButton value={textOf(shown)}>
        {({ copied, copy }) => (
          <button
            type="button"
            className="log-button"
            aria-label={copied ? 'Copied' : 'Copy these lines'}
            onClick={copy}
          >
            {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          </button>
        )}
      </CopyButton>
      {!isFolded && (
        <div className="log-rest">
          <Marked text={lines.slice(1).join('\n')} marked={marked} />
        </div>
      )}
    </>
  );
}

/** The job of a line, short unless its id was searched for. */
function JobName({ id, marked, jobsPath }: { id: string; marked: string; jobsPath: string | null }) {
  const isSought = marked !== '' && id.toLowerCase().includes(marked.toLowerCase());
  const name = <Marked text={isSought ? id : shortId(id)} marked={marked} />;
  if (jobsPath === null) return <span title={id}>{name} </span>;
  return (
    <>
      <Link className="log-job" to={`${jobsPath}?job=${id}`} title={`Job ${id}`}>
        {name}
      </Link>{' '}
    </>
  );
}

/** Text of a log, which must neither hide something nor reorder its line. */
function Marked({ text, marked }: { text: string; marked: string }) {
  return (
    <bdi>
      {splitMatches(visibleText(text), marked).map((part, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a line never changes
        part.isMatch ? <mark key={index}>{part.text}</mark> : part.text,
      )}
    </bdi>
  );
}

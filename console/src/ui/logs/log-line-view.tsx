import { CopyButton } from '@mantine/core';
import { IconCheck, IconChevronDown, IconChevronRight, IconCopy } from '@tabler/icons-react';
import { memo } from 'react';
import { formatCount } from '../text/format.ts';
import { visibleText } from '../text/visible-text.ts';
import type { LogLine } from './log-buffer.ts';
import { headOf, type LogRecord, recordOf, textOf } from './log-record.ts';
import { plainText, splitMatches } from './log-text.ts';

interface LogLineViewProps {
  line: LogLine;
  marked: string;
  worker: string | null;
  time: string;
  isFolded: boolean;
  onFold: (id: string) => void;
}

/** A line of a log; one that holds several shows them below each other, or folded. */
export const LogLineView = memo(function LogLineView(props: LogLineViewProps) {
  const { line, marked, worker, time } = props;
  const record = recordOf(line);
  return (
    <div className="log-line" data-level={line.level ?? undefined} data-source={line.source}>
      <span className="log-time" title={line.ts}>
        {time}
      </span>{' '}
      {worker && <span className="log-worker">{worker} </span>}
      {record === null ? (
        <Marked text={plainText(line.line)} marked={marked} />
      ) : (
        <RecordView {...props} record={record} />
      )}
    </div>
  );
});

function RecordView({ line, marked, record, isFolded, onFold }: LogLineViewProps & { record: LogRecord }) {
  const { prefix, lines } = record;
  const Chevron = isFolded ? IconChevronRight : IconChevronDown;
  return (
    <>
      <button
        type="button"
        className="log-button"
        aria-expanded={!isFolded}
        aria-label={`${formatCount(lines.length, 'line')}: ${visibleText(headOf(record))}`}
        onClick={() => onFold(line.id)}
      >
        <Chevron size={14} aria-hidden />
      </button>
      <Marked text={`${prefix} ${isFolded ? headOf(record) : lines[0]}`.trimStart()} marked={marked} />{' '}
      {isFolded && <span className="log-time">{formatCount(lines.length, 'line')}</span>}
      <CopyButton value={textOf(record)}>
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

import { Skeleton, Text } from '@mantine/core';
import type { CSSProperties } from 'react';
import { Link } from 'react-router';
import { visibleText } from './visible-text.ts';

/** A name that a user chose, within a sentence or a cell: its direction ends with it, and it hides nothing. */
export function Name({ children }: { children: string }) {
  return <bdi>{visibleText(children)}</bdi>;
}

/** In place of a name that is on its way. */
export function PendingName() {
  return <Skeleton component="span" display="inline-block" w={120} h={12} role="img" aria-label="Loading" aria-busy />;
}

/** A record's name in the first column of a list, in one line. `title` appears when the pointer rests on it. */
export function RecordName({ children, title }: { children: string; title?: string }) {
  return (
    <div className="record-name own-name" title={visibleText(title || children)}>
      <Name>{children}</Name>
    </div>
  );
}

/** A record's name as a link, in a row that is a link itself. */
export function RecordLink({ to, name }: { to: string; name: string }) {
  return (
    <Link
      to={to}
      className="record-name own-name"
      title={visibleText(name)}
      onClick={(event) => event.stopPropagation()}
    >
      <Name>{name}</Name>
    </Link>
  );
}

/** Text that takes the room that a cell has, in at most two lines; all of it on hover. */
export function TwoLines({ text }: { text: string }) {
  if (text === '') return null;
  return (
    <Text size="sm" lineClamp={2} title={visibleText(text)} className="two-lines">
      <Name>{text}</Name>
    </Text>
  );
}

/** Text in one line that ends with an ellipsis where it does not fit; all of it on hover. */
export function Truncated(props: { text: string; maw?: number | string; isDimmed?: boolean }) {
  const { text, maw = 280, isDimmed = false } = props;
  return (
    <span
      className={isDimmed ? 'truncated second-value' : 'truncated'}
      style={{ '--most': typeof maw === 'number' ? `${maw}px` : maw } as CSSProperties}
      title={visibleText(text)}
    >
      <Name>{text}</Name>
    </span>
  );
}

import { Anchor, Button, Paper, Skeleton, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { Name } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import type { AttentionItem } from './attention.ts';

/** More are shown on request. */
const SHOWN_FIRST = 6;

/** What somebody should look into, or one line that nothing does. */
export function AttentionList({ items }: { items: readonly AttentionItem[] | undefined }) {
  const [isAll, setAll] = useState(false);
  if (items === undefined) return <Skeleton h={42} aria-busy="true" aria-label="Loading" />;
  if (items.length === 0) {
    return (
      <p className="all-well">
        <span className="attention-dot" data-severity="none" aria-hidden />
        Nothing needs attention.
      </p>
    );
  }
  const shown = isAll ? items : items.slice(0, SHOWN_FIRST);
  return (
    <section aria-labelledby="attention">
      <Title order={2} size="h4" id="attention" mb="xs">
        Needs attention
      </Title>
      <Paper withBorder component="ul" className="attention">
        {shown.map((item) => (
          <Item key={item.key} item={item} />
        ))}
      </Paper>
      {items.length > shown.length && (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => setAll(true)}>
          Show all {items.length}
        </Button>
      )}
    </section>
  );
}

function Item({ item: { severity, what, name, reason, to, since } }: { item: AttentionItem }) {
  return (
    <li className="attention-item">
      <span className="attention-dot" data-severity={severity} aria-hidden />
      <div className="attention-text">
        <Text size="sm">
          <Anchor component={Link} to={to} size="sm" fw={550} c="inherit" underline="hover">
            {name === undefined ? what : <Name>{name}</Name>}
          </Anchor>{' '}
          {name !== undefined && (
            <Text span size="sm" c="dimmed">
              {what}
            </Text>
          )}
        </Text>
        {reason !== '' && (
          <Text size="sm" className="attention-reason" title={visibleText(reason)}>
            <Name>{reason}</Name>
          </Text>
        )}
      </div>
      {since && (
        <Text component="div" size="xs" c="dimmed" className="attention-since">
          <RelativeTime at={since} />
        </Text>
      )}
    </li>
  );
}

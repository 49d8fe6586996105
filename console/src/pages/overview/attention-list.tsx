import { Anchor, Paper, Skeleton, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { installationQuery } from '../../api/queries.ts';
import { Name } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { useFirst } from '../../ui/use-first.tsx';
import { type AttentionItem, attentionItems } from './attention.ts';
import { EndpointName, useEndpointNames } from './endpoint-names.tsx';

/** More are shown on request. */
const SHOWN_FIRST = 6;

/** The list of what needs attention, or one line that nothing does. */
export function AttentionList({ items }: { items: readonly AttentionItem[] | undefined }) {
  const [shown, more] = useFirst(items ?? [], SHOWN_FIRST);
  if (items === undefined) return <Skeleton h={42} role="group" aria-busy="true" aria-label="Loading" />;
  if (items.length === 0) {
    return (
      <p className="all-well">
        <span className="attention-dot" data-severity="none" aria-hidden />
        Nothing needs attention.
      </p>
    );
  }
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
      {more}
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
            {name === undefined ? what : <EndpointName name={name} />}
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

const REFRESH_MS = 15_000;
/** Long lists are read less often. */
const LONG_REFRESH_MS = 120_000;
const LONG_FROM = 1_000;

/** Returns what needs attention; undefined until everything that the key may read is loaded. */
export function useAttention(): readonly AttentionItem[] | undefined {
  const figures = useQuery({
    queryKey: ['endpoint-figures', 'attention'],
    queryFn: () => unwrap(api.GET('/v2/serverless/figures')),
    refetchInterval: REFRESH_MS,
  });
  const pods = useQuery({
    queryKey: ['pods', 'reasons'],
    queryFn: () => unwrap(api.GET('/v2/pods', { params: { query: { include: 'REASON' } } })),
    refetchInterval: ({ state }) => ((state.data?.pods.length ?? 0) > LONG_FROM ? LONG_REFRESH_MS : REFRESH_MS),
  });
  const limits = useQuery({
    queryKey: ['limits', 'own'],
    queryFn: () => unwrap(api.GET('/v2/account/limits')),
    refetchInterval: REFRESH_MS,
  });
  const budgets = useQuery({
    queryKey: ['budgets', false], // as the notice above every page has it
    queryFn: () => unwrap(api.GET('/v2/billing/budgets')),
    refetchInterval: REFRESH_MS,
  });
  const installation = useQuery({ ...installationQuery, refetchInterval: REFRESH_MS });
  const nameOf = useEndpointNames();
  const isLoading = [figures, pods, limits, budgets, installation].some(({ isPending }) => isPending);
  if (isLoading) return undefined;
  return attentionItems({
    figures: figures.data?.figures ?? [],
    nameOf,
    pods: pods.data?.pods ?? [],
    limits: limits.data,
    problems: installation.data?.problems ?? [],
    budgets: budgets.data?.budgets ?? [],
  });
}

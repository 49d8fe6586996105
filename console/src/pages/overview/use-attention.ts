import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { endpointsQuery, installationQuery } from '../../api/queries.ts';
import { type AttentionItem, attentionItems } from './attention.ts';

const REFRESH_MS = 15_000;
/** Long lists are read less often. */
const LONG_REFRESH_MS = 120_000;
const LONG_FROM = 1_000;

/** Returns what somebody should look into; undefined until all that the key may read is there. */
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
  const endpoints = useQuery(endpointsQuery);
  const isLoading = [figures, pods, limits, budgets, installation].some(({ isPending }) => isPending);
  const endpointNames = useMemo(
    () => new Map(endpoints.data?.endpoints.map(({ id, name }) => [id, name])),
    [endpoints.data],
  );
  if (isLoading) return undefined;
  return attentionItems({
    figures: figures.data?.figures ?? [],
    endpointNames,
    pods: pods.data?.pods ?? [],
    limits: limits.data,
    problems: installation.data?.problems ?? [],
    budgets: budgets.data?.budgets ?? [],
  });
}

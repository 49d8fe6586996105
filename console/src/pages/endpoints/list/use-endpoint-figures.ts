import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { api, unwrap } from '../../../api/client.ts';
import type { AccountSnapshot } from '../../../api/live-snapshots.ts';
import { type EndpointFigures, type KnownFigures, MAX_ACTIVE, missingIds } from './endpoint-rows.ts';

/** Rows that scroll by are not asked for. */
const SETTLE_MS = 120;

type Kept = ReadonlyMap<string, { version: string; figures: EndpointFigures | undefined }>;

/**
 * Returns the figures of all endpoints that are not at rest, and of those on the screen with their course. Both are read again
 * when the stream says that a minute was written, and a row also when its endpoint begins or ends to work.
 */
export function useEndpointFigures(live: AccountSnapshot | undefined, visibleIds: readonly string[]): KnownFigures {
  const minute = live?.historyUntil ?? '';
  const all = useQuery({
    queryKey: ['endpoint-figures', minute],
    queryFn: () => unwrap(api.GET('/v2/serverless/figures')),
    placeholderData: (before) => before,
    gcTime: 0,
  });
  const allById = useMemo(
    () => all.data && new Map(all.data.figures.map((figures) => [figures.id, figures])),
    [all.data],
  );
  const shown = useShownFigures(visibleIds, live);
  return useMemo(() => ({ all: allById, shown, live }), [allById, shown, live]);
}

function useShownFigures(
  visibleIds: readonly string[],
  live: AccountSnapshot | undefined,
): ReadonlyMap<string, EndpointFigures> {
  const [kept, setKept] = useState<Kept>(new Map());
  const active = new Set(live?.active.length === MAX_ACTIVE ? [] : live?.active.map(({ id }) => id));
  const versionOf = (id: string) => `${live?.historyUntil}/${active.has(id)}`;
  const versions = new Map([...kept].map(([id, { version }]) => [id, version]));
  const missing = live === undefined ? '' : missingIds(visibleIds, versions, versionOf).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `versionOf` changes with every event; what is missing is what counts
  useEffect(() => {
    if (missing === '') return;
    const ids = missing.split(',');
    const asked = new Map(ids.map((id) => [id, versionOf(id)]));
    const timer = setTimeout(async () => {
      const answer = await unwrap(api.GET('/v2/serverless/figures', { params: { query: { ids: missing } } })).catch(
        () => null, // the next minute asks again
      );
      if (answer === null) return;
      const read = new Map(answer.figures.map((figures) => [figures.id, figures]));
      setKept((known) => {
        const next = new Map(known);
        for (const [id, version] of asked) next.set(id, { version, figures: read.get(id) });
        return next;
      });
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [missing]);

  return useMemo(() => new Map([...kept].flatMap(([id, { figures }]) => (figures ? [[id, figures]] : []))), [kept]);
}

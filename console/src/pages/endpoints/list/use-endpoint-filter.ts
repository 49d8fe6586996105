import { useDeferredValue, useEffect, useState } from 'react';
import { useSearchParams } from 'react-router';
import { parseSort, type Sort, sortText } from '../../../ui/tables/sort-records.ts';
import { DEFAULT_SORT, type EndpointFilter, SORT_KEYS } from './endpoint-rows.ts';

/** Browsers limit how often the address may change. */
const TYPING_MS = 300;

/** What the list is narrowed to and sorted by, kept in the address. */
export function useEndpointFilter() {
  const [params, setParams] = useSearchParams();
  const [search, setSearch] = useState(params.get('q') ?? '');
  const of = (name: string) => params.get(name) ?? '';
  const filter: EndpointFilter = {
    search: useDeferredValue(search),
    state: of('state'),
    kind: of('kind'),
    image: of('image'),
  };

  function set(name: string, value: string) {
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  }

  const isWritten = search === of('q');
  // biome-ignore lint/correctness/useExhaustiveDependencies: `set` is made anew with each rendering
  useEffect(() => {
    if (isWritten) return;
    const timer = setTimeout(() => set('q', search), TYPING_MS);
    return () => clearTimeout(timer);
  }, [search, isWritten]);

  return {
    filter,
    search,
    setSearch,
    setState: (state: string) => set('state', state),
    setKind: (kind: string) => set('kind', kind),
    setImage: (image: string) => set('image', image),
    reset: () => {
      setSearch('');
      setParams({}, { replace: true });
    },
    sort: parseSort(params.get('sort'), SORT_KEYS, DEFAULT_SORT),
    setSort: (sort: Sort) => set('sort', sortText(sort)),
  };
}

export type EndpointFilterState = ReturnType<typeof useEndpointFilter>;

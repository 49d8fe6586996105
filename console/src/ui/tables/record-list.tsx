import { Box, Group, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { formatNumber } from '../text/format.ts';
import { RecordTable, type RecordTableProps } from './record-table.tsx';
import { findRecords } from './select-records.ts';

export type { Column } from './record-table.tsx';

/** Shorter lists have no search box. */
const SEARCH_FROM = 8;

export type RecordListProps<Item> = RecordTableProps<Item> & { textOf: (item: Item) => string };

/** A list of records. `textOf` returns the text that the search looks at. */
export function RecordList<Item>(props: RecordListProps<Item>) {
  const { textOf, items, ...table } = props;
  const [search, setSearch] = useSearch();
  const term = useDeferredValue(search);
  const found = useMemo(() => findRecords(items, term, textOf), [items, term, textOf]);
  return (
    <Box>
      {(items.length >= SEARCH_FROM || search !== '') && (
        <Group mb="sm" gap="sm">
          <TextInput
            aria-label={`Search ${props.label}`}
            placeholder="Search"
            leftSection={<IconSearch size={16} aria-hidden />}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            w={280}
          />
          <Text size="sm" c="dimmed" className="figure" role="status">
            {found.length === items.length
              ? formatNumber(items.length)
              : `${formatNumber(found.length)} of ${formatNumber(items.length)}`}
          </Text>
        </Group>
      )}
      <RecordTable {...table} items={found} />
      {found.length === 0 && (
        <Text c="dimmed" p="md" ta="center">
          No results for “{search}”.
        </Text>
      )}
    </Box>
  );
}

/** While somebody types, the URL follows after this pause. */
const PAUSE_MS = 300;

/** The search of a list, which is in the URL as `?q=`: a link to the list leads to the same records. */
export function useSearch(): [search: string, setSearch: (search: string) => void] {
  const [params, setParams] = useSearchParams();
  const inUrl = params.get('q') ?? '';
  const [search, setSearch] = useState(inUrl);
  const known = useRef(inUrl);
  useEffect(() => {
    if (inUrl === known.current) return; // it follows what was typed
    known.current = inUrl;
    setSearch(inUrl);
  }, [inUrl]);
  useEffect(() => {
    if (search === known.current) return;
    const timer = setTimeout(() => {
      known.current = search;
      setParams((now) => withSearch(now, search), { replace: true });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [search, setParams]);
  return [search, setSearch];
}

function withSearch(params: URLSearchParams, search: string): URLSearchParams {
  const next = new URLSearchParams(params);
  if (search === '') next.delete('q');
  else next.set('q', search);
  return next;
}

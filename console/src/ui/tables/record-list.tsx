import { Box, Button, Group, Select, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { Later } from '../later.tsx';
import { formatNumber } from '../text/format.ts';
import type { StatusLook } from '../text/labels.ts';
import { useUrlParams } from '../use-url-params.ts';
import { type Column, RecordTable, type RecordTableProps } from './record-table.tsx';
import { countStates, findRecords, parseSort, type Sort, sortRecords, sortText } from './select-records.ts';
import { StateFilter } from './state-filter.tsx';

export type { Column } from './record-table.tsx';

/** Shorter lists have no search box. */
const SEARCH_FROM = 8;

export interface RecordListProps<Item> extends Omit<RecordTableProps<Item>, 'sort' | 'onSort' | 'hasBlocks'> {
  /** The text that the search looks at. */
  textOf: (item: Item) => string;
  /** The states of the records, in the order of the list: the most urgent first. */
  states?: { table: Readonly<Record<string, StatusLook>>; of: (item: Item) => string };
  /** The column that the list is sorted by at first; `-cost` is descending. Absent: the order of `items`. */
  defaultSort?: string;
  /** The name of the search in the URL. Another list of the page has another one, and cannot be sorted. */
  searchName?: string;
}

/** A list of records, with its search, state and order in the URL. On narrow screens each record is a block. */
export function RecordList<Item>(props: RecordListProps<Item>) {
  const { textOf, items, states, defaultSort, searchName = 'q', ...table } = props;
  const isMain = searchName === 'q';
  const [search, setSearch] = useSearch(searchName);
  const [params, setParam] = useUrlParams();
  const term = useDeferredValue(search);
  const state = states && isMain ? (params.get('state') ?? '') : '';
  const found = useMemo(() => findRecords(items, term, textOf), [items, term, textOf]);
  const shown = useMemo(
    () => (states && state !== '' ? found.filter((item) => states.of(item) === state) : found),
    [found, states, state],
  );
  const { columns } = table;
  const keys = columns.flatMap(({ sortKey }) => sortKey ?? []);
  const fallback = parseSort(defaultSort ?? null, keys, { key: '', isDescending: false });
  const sort = isMain ? parseSort(params.get('sort'), keys, fallback) : fallback;
  const { key, isDescending } = sort;
  const sorted = useMemo(() => {
    const column = columns.find(({ sortKey }) => sortKey === key);
    return column?.sortValue ? sortRecords(shown, column.sortValue, isDescending) : shown;
  }, [shown, columns, key, isDescending]);
  const setSort = (next: Sort) => setParam('sort', sortText(next));
  const counts = states ? countStates(items, states.of, Object.keys(states.table)) : [];
  const reset = () => {
    setSearch('');
    setParam('state', '');
  };
  return (
    <Box className="record-list">
      <Group
        mb="sm"
        gap="xs"
        className="filters"
        hidden={items.length < SEARCH_FROM && search === '' && counts.length < 2 && state === ''}
      >
        {(items.length >= SEARCH_FROM || search !== '') && (
          <>
            <TextInput
              aria-label={`Search ${props.label}`}
              placeholder="Search"
              leftSection={<IconSearch size={16} aria-hidden />}
              value={search}
              onChange={(event) => setSearch(event.currentTarget.value)}
              className="filter-search"
            />
            {isMain && keys.length > 0 && (
              <Later>
                <SortSelect columns={columns} sort={sort} onSort={setSort} />
              </Later>
            )}
            <Text size="sm" c="dimmed" className="figure" role="status">
              {shown.length === items.length
                ? formatNumber(items.length)
                : `${formatNumber(shown.length)} of ${formatNumber(items.length)}`}
            </Text>
          </>
        )}
        {states && isMain && (counts.length > 1 || state !== '') && (
          <StateFilter
            table={states.table}
            counts={counts}
            chosen={state}
            onChoose={(chosen) => setParam('state', chosen)}
          />
        )}
      </Group>
      <RecordTable
        {...table}
        items={sorted}
        hasBlocks
        {...(isMain &&
          keys.length > 0 && { sort, onSort: (column: string) => setSort(nextSort(sort, column, columns)) })}
      />
      {shown.length === 0 && (
        <Text c="dimmed" p="md" ta="center">
          No {props.label} match{search === '' ? '' : ` “${search}”`}.{' '}
          <Button variant="subtle" size="compact-sm" onClick={reset}>
            Show all
          </Button>
        </Text>
      )}
    </Box>
  );
}

/** Figures begin with the largest. */
function nextSort<Item>(current: Sort, key: string, columns: readonly Column<Item>[]): Sort {
  if (current.key === key) return { key, isDescending: !current.isDescending };
  return { key, isDescending: columns.find(({ sortKey }) => sortKey === key)?.isNumber === true };
}

/** In place of the titles that sort, which narrow screens don't show. */
function SortSelect<Item>(props: { columns: readonly Column<Item>[]; sort: Sort; onSort: (sort: Sort) => void }) {
  const { columns, sort, onSort } = props;
  const options = columns.flatMap(({ title, sortKey }) =>
    sortKey === undefined ? [] : [{ value: sortKey, label: `By ${title.toLowerCase()}` }],
  );
  return (
    <Select
      hiddenFrom="sm"
      aria-label="Order"
      placeholder="Order"
      data={options}
      value={sort.key || null}
      onChange={(key) => key && onSort(nextSort({ key: '', isDescending: false }, key, columns))}
    />
  );
}

/** While the user types, the URL follows after this pause, ms. */
const PAUSE_MS = 300;

/** The search of a list, which is in the URL as `?q=`: a link to the list leads to the same records. */
export function useSearch(name = 'q'): [search: string, setSearch: (search: string) => void] {
  const [params, setParam] = useUrlParams();
  const inUrl = params.get(name) ?? '';
  const [search, setSearch] = useState(inUrl);
  const known = useRef(inUrl);
  const set = useRef(setParam);
  set.current = setParam;
  useEffect(() => {
    if (inUrl === known.current) return; // it follows what was typed
    known.current = inUrl;
    setSearch(inUrl);
  }, [inUrl]);
  useEffect(() => {
    if (search === known.current) return;
    const timer = setTimeout(() => {
      known.current = search;
      set.current(name, search);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [search, name]);
  return [search, setSearch];
}

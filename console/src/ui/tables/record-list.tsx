import { Box, Group, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useDeferredValue, useMemo } from 'react';
import { formatNumber } from '../text/format.ts';
import { findRecords } from './find-records.ts';
import { RecordTable, type RecordTableProps } from './record-table.tsx';
import { useSearch } from './use-search.ts';

export type { Column } from './record-table.tsx';

/** Shorter lists have no search box. */
const SEARCH_FROM = 8;

/** A list of records. `textOf` returns the text that the search looks at. */
export function RecordList<Item>(props: RecordTableProps<Item> & { textOf: (item: Item) => string }) {
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

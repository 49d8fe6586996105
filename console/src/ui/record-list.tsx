import { Box, Group, Table, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useDeferredValue, useMemo, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { formatNumber } from './format.ts';

export interface Column<Item> {
  title: string;
  render: (item: Item) => ReactNode;
  /** Left out on narrow screens. */
  isSecondary?: boolean;
  width?: string;
}

const ROW_HEIGHT = 46;
const SEARCH_FROM = 8;

/**
 * Records as a table of which only what is seen exists: ten thousand scroll as ten do. `textOf` is what the search looks
 * at; `linkOf` makes the row a way to the record.
 */
export function RecordList<Item>(props: {
  label: string;
  items: readonly Item[];
  columns: readonly Column<Item>[];
  idOf: (item: Item) => string;
  textOf: (item: Item) => string;
  linkOf?: (item: Item) => string;
}) {
  const { items, columns, idOf, textOf, linkOf } = props;
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search.trim().toLowerCase());
  const found = useMemo(
    () => (wanted === '' ? items : items.filter((item) => textOf(item).toLowerCase().includes(wanted))),
    [items, wanted, textOf],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const rows = useVirtualizer({
    count: found.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const visible = rows.getVirtualItems();
  const before = visible[0]?.start ?? 0;
  const after = rows.getTotalSize() - (visible.at(-1)?.end ?? 0);
  return (
    <Box>
      {items.length >= SEARCH_FROM && (
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
      <Box
        ref={scroller}
        mah="calc(100vh - 14rem)"
        style={{ overflow: 'auto' }}
        tabIndex={0}
        role="region"
        aria-label={props.label}
      >
        <Table stickyHeader verticalSpacing="xs" aria-label={props.label} aria-rowcount={found.length}>
          <Table.Thead>
            <Table.Tr>
              {columns.map(({ title, isSecondary, width }) => (
                <Table.Th key={title} {...(isSecondary ? { visibleFrom: 'sm' } : {})} {...(width ? { w: width } : {})}>
                  {title}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {before > 0 && <Table.Tr h={before} aria-hidden />}
            {visible.map(({ index }) => {
              const item = found[index]!;
              const link = linkOf?.(item);
              return (
                <Table.Tr
                  key={idOf(item)}
                  h={ROW_HEIGHT}
                  {...(link ? { className: 'row-link', onClick: () => navigate(link) } : {})}
                >
                  {columns.map(({ title, render, isSecondary }) => (
                    <Table.Td key={title} {...(isSecondary ? { visibleFrom: 'sm' } : {})}>
                      {render(item)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              );
            })}
            {after > 0 && <Table.Tr h={after} aria-hidden />}
          </Table.Tbody>
        </Table>
        {found.length === 0 && (
          <Text c="dimmed" p="md" ta="center">
            Nothing matches “{search}”.
          </Text>
        )}
      </Box>
    </Box>
  );
}

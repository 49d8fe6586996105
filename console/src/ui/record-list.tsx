import { Box, Group, Paper, Table, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useDeferredValue, useMemo, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { findRecords } from './find-records.ts';
import { formatNumber } from './format.ts';

export interface Column<Item> {
  title: string;
  render: (item: Item) => ReactNode;
  /** Hidden on narrow screens. */
  isSecondary?: boolean;
  width?: string;
}

interface RecordTableProps<Item> {
  label: string;
  items: readonly Item[];
  columns: readonly Column<Item>[];
  idOf: (item: Item) => string;
  /** Makes each row a link. */
  linkOf?: (item: Item) => string;
}

const ROW_HEIGHT = 46;
/** Shorter lists have no search box. */
const SEARCH_FROM = 8;

/** A list of records. `textOf` returns the text that the search looks at. */
export function RecordList<Item>(props: RecordTableProps<Item> & { textOf: (item: Item) => string }) {
  const { textOf, items, ...table } = props;
  const [search, setSearch] = useState('');
  const term = useDeferredValue(search);
  const found = useMemo(() => findRecords(items, term, textOf), [items, term, textOf]);
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
      <RecordTable {...table} items={found} />
      {found.length === 0 && (
        <Text c="dimmed" p="md" ta="center">
          No results for “{search}”.
        </Text>
      )}
    </Box>
  );
}

/** Renders only the visible rows, so that ten thousand records scroll as smoothly as ten. */
function RecordTable<Item>({ label, items, columns, idOf, linkOf }: RecordTableProps<Item>) {
  const scroller = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const visible = rows.getVirtualItems();
  const before = visible[0]?.start ?? 0;
  const after = rows.getTotalSize() - (visible.at(-1)?.end ?? 0);
  return (
    <Paper
      withBorder
      ref={scroller}
      mah="calc(100vh - 14rem)"
      style={{ overflow: 'auto' }}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <Table stickyHeader verticalSpacing="xs" aria-label={label} aria-rowcount={items.length}>
        <Header columns={columns} />
        <Table.Tbody>
          {before > 0 && <Table.Tr h={before} aria-hidden />}
          {visible.map(({ index }) => {
            const item = items[index]!;
            const link = linkOf?.(item);
            return (
              <Row
                key={idOf(item)}
                item={item}
                columns={columns}
                {...(link === undefined ? {} : { onOpen: () => navigate(link) })}
              />
            );
          })}
          {after > 0 && <Table.Tr h={after} aria-hidden />}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function Header<Item>({ columns }: { columns: readonly Column<Item>[] }) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map((column) => (
          <Table.Th key={column.title} {...visibility(column)} {...(column.width ? { w: column.width } : {})}>
            {column.title}
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  );
}

function Row<Item>(props: { item: Item; columns: readonly Column<Item>[]; onOpen?: () => void }) {
  const { item, columns, onOpen } = props;
  return (
    <Table.Tr h={ROW_HEIGHT} {...(onOpen ? { className: 'row-link', onClick: onOpen } : {})}>
      {columns.map((column) => (
        <Table.Td key={column.title} {...visibility(column)}>
          {column.render(item)}
        </Table.Td>
      ))}
    </Table.Tr>
  );
}

function visibility({ isSecondary }: { isSecondary?: boolean }) {
  return isSecondary ? { visibleFrom: 'sm' } : {};
}

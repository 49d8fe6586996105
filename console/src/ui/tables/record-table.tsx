import './record-table.css';
import { Paper, Table, UnstyledButton } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type ReactNode, useEffect, useRef } from 'react';
import { useNavigate } from 'react-router';
import type { Sort, SortValue } from './select-records.ts';
import { useRowKeys } from './use-row-keys.ts';

export interface Column<Item> {
  title: string;
  render: (item: Item) => ReactNode;
  /** Hidden on narrow screens, where records are no blocks. */
  isSecondary?: boolean;
  /** Hidden on screens of medium width, which have no room for all columns. */
  isWide?: boolean;
  width?: string;
  /** Figures, at the right. */
  isNumber?: boolean;
  /** Names the order by this column in the URL, if its title can be clicked. */
  sortKey?: string;
  /** The value that a RecordList sorts by. */
  sortValue?: (item: Item) => SortValue;
}

export interface RecordTableProps<Item> {
  label: string;
  items: readonly Item[];
  columns: readonly Column<Item>[];
  idOf: (item: Item) => string;
  /** Makes each row a link, and lets arrows, j and k move between rows. The first column must show the link. */
  linkOf?: (item: Item) => string;
  sort?: Sort;
  onSort?: (key: string) => void;
  /** Called with the items on the screen and near it, whenever they change. */
  onVisible?: (items: readonly Item[]) => void;
  rowHeight?: number;
  /** On narrow screens each row is a block of titled values, with all columns. */
  hasBlocks?: boolean;
  /** Columns have their width and share the rest, whatever their content: the table is never wider than the page. */
  isFixed?: boolean;
  /** The height above the table on the page, in rem. */
  aboveRem?: number;
}

const ROW_HEIGHT = 42;

/** Renders only the visible rows, so that ten thousand records scroll as smoothly as ten. */
export function RecordTable<Item>(props: RecordTableProps<Item>) {
  const { label, items, columns, idOf, linkOf, onVisible, rowHeight = ROW_HEIGHT } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 4, // more of them are a tenth of the time to the first row
  });
  const visible = rows.getVirtualItems();
  const before = visible[0]?.start ?? 0;
  const after = rows.getTotalSize() - (visible.at(-1)?.end ?? 0);
  const onKeyDown = useRowKeys({ scroller, count: linkOf ? items.length : 0, show: rows.scrollToIndex });
  useEffect(() => {
    onVisible?.(visible.map(({ index }) => items[index]!));
  });
  return (
    <Paper
      withBorder
      ref={scroller}
      className={props.hasBlocks ? 'record-blocks' : undefined}
      mah={`calc(100vh - ${props.aboveRem ?? 14}rem)`}
      style={{ overflow: 'auto' }}
      tabIndex={0}
      role="region"
      aria-label={label}
      onKeyDown={onKeyDown}
    >
      <Table
        stickyHeader
        verticalSpacing="xs"
        layout={props.isFixed ? 'fixed' : 'auto'}
        aria-label={label}
        aria-rowcount={items.length}
      >
        <Header columns={columns} hasBlocks={props.hasBlocks} sort={props.sort} onSort={props.onSort} />
        <Table.Tbody>
          {before > 0 && <Table.Tr h={before} aria-hidden />}
          {visible.map(({ index }) => {
            const item = items[index]!;
            const link = linkOf?.(item);
            return (
              <Row
                key={idOf(item)}
                index={index}
                height={rowHeight}
                item={item}
                columns={columns}
                hasBlocks={props.hasBlocks ?? false}
                measure={rows.measureElement}
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

interface HeaderProps<Item> {
  columns: readonly Column<Item>[];
  hasBlocks: boolean | undefined;
  sort: Sort | undefined;
  onSort: ((key: string) => void) | undefined;
}

function Header<Item>({ columns, hasBlocks, sort, onSort }: HeaderProps<Item>) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map((column) => {
          const { title, sortKey, width } = column;
          const isSorted = sortKey !== undefined && sort?.key === sortKey;
          return (
            <Table.Th
              key={title}
              {...(hasBlocks ? {} : visibility(column))}
              {...room(column)}
              {...alignment(column)}
              {...(width ? { w: width } : {})}
              {...(isSorted ? { 'aria-sort': sort.isDescending ? 'descending' : 'ascending' } : {})}
            >
              {sortKey === undefined || onSort === undefined ? (
                title
              ) : (
                <UnstyledButton className="sort-title" onClick={() => onSort(sortKey)}>
                  {title}
                  <span aria-hidden>{isSorted ? (sort.isDescending ? '↓' : '↑') : ''}</span>
                </UnstyledButton>
              )}
            </Table.Th>
          );
        })}
      </Table.Tr>
    </Table.Thead>
  );
}

interface RowProps<Item> {
  index: number;
  height: number;
  item: Item;
  columns: readonly Column<Item>[];
  hasBlocks: boolean;
  measure: (row: HTMLTableRowElement | null) => void;
  onOpen?: () => void;
}

const { tr, td } = Table.classes;

/** Plain elements with the styles of Mantine's, which take most of the time to the first row. */
function Row<Item>({ index, height, item, columns, hasBlocks, measure, onOpen }: RowProps<Item>) {
  return (
    <tr
      style={{ '--row-height': `${height}px` } as CSSProperties}
      className={onOpen ? `${tr} row-link` : tr}
      data-with-row-border
      data-row={index}
      {...(hasBlocks ? { ref: measure, 'data-index': index } : {})}
      {...(onOpen ? { onClick: onOpen } : {})}
    >
      {columns.map((column) => (
        <td
          key={column.title}
          className={cellClass(column, hasBlocks)}
          {...(hasBlocks ? { 'data-title': column.title } : {})}
          {...room(column)}
        >
          {column.render(item)}
        </td>
      ))}
    </tr>
  );
}

function cellClass({ isSecondary, isNumber }: Pick<Column<never>, 'isSecondary' | 'isNumber'>, hasBlocks: boolean) {
  return [td, isNumber && 'figure number', isSecondary && !hasBlocks && 'mantine-visible-from-sm']
    .filter(Boolean)
    .join(' ');
}

function visibility({ isSecondary }: { isSecondary?: boolean }) {
  return isSecondary ? { visibleFrom: 'sm' } : {};
}

function room({ isWide }: { isWide?: boolean }) {
  return isWide ? { 'data-wide': true } : {};
}

function alignment({ isNumber }: { isNumber?: boolean }) {
  return isNumber ? { className: 'figure number' } : {};
}

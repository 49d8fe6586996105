import { Paper, Table, type TableProps } from '@mantine/core';
import type { ReactNode } from 'react';

/**
 * A framed table of few rows, which scrolls sideways on narrow screens. Set `isFocusable` if nothing in the rows takes
 * the focus: without it the keyboard could not scroll the table.
 */
export function SmallTable(
  props: Omit<TableProps, 'aria-label'> & {
    label: string;
    titles: readonly string[];
    minWidth: number;
    isFocusable?: boolean;
    children: ReactNode;
  },
) {
  const { label, titles, minWidth, isFocusable = false, children, ...table } = props;
  const viewportProps = isFocusable ? { tabIndex: 0, role: 'region', 'aria-label': label } : {};
  return (
    <Paper withBorder>
      <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={{ offsetScrollbars: 'present', viewportProps }}>
        <Table aria-label={label} verticalSpacing="xs" {...table}>
          <Table.Thead>
            <Table.Tr>
              {titles.map((title) => (
                <Table.Th key={title}>{title}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>{children}</Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

import { Table, type TableProps } from '@mantine/core';
import type { ReactNode } from 'react';

/**
 * A table of few rows, which narrow screens scroll sideways. `scrollLabel`: nothing in it takes the focus, so the table
 * itself does, under that name; else no key could scroll it.
 */
export function SmallTable(
  props: Omit<TableProps, 'aria-label'> & {
    label: string;
    titles: readonly string[];
    minWidth: number;
    scrollLabel?: string;
    children: ReactNode;
  },
) {
  const { label, titles, minWidth, scrollLabel, children, ...table } = props;
  const viewport = { tabIndex: 0, role: 'region', 'aria-label': scrollLabel };
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      {...(scrollLabel !== undefined && { scrollAreaProps: { viewportProps: viewport } })}
    >
      <Table aria-label={label} {...table}>
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
  );
}

import './small-table.css';
import { Paper, Table, type TableProps } from '@mantine/core';
import type { CSSProperties, ReactNode } from 'react';

/**
 * A framed table of few rows. On narrow screens each row is a block of labelled values; between, the table scrolls
 * sideways. Set `isFocusable` if nothing in the rows takes the focus: without it the keyboard could not scroll the table.
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
    <Paper withBorder className="small-table" style={titleVariables(titles)}>
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

/** Hands the titles to the style sheet, which shows them beside the values of a block. Buttons say themselves what they do. */
function titleVariables(titles: readonly string[]): CSSProperties {
  const variables = titles.map((title, index) => [
    `--title-${index + 1}`,
    title === 'Actions' ? '' : JSON.stringify(title),
  ]);
  return Object.fromEntries(variables.filter(([, title]) => title !== ''));
}

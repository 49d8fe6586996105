import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { EmptyState, type EmptyStateProps, type Loadable, Loaded, Page } from '../page.tsx';
import { RecordList, type RecordListProps } from './record-list.tsx';

export type { Column } from './record-table.tsx';

interface RecordPageProps<Item> extends Omit<RecordListProps<Item>, 'items'> {
  title: string;
  /** Creates a record. */
  action: ReactNode;
  query: Loadable<readonly Item[]>;
  /** In place of an empty list: what its records are for. */
  empty: Pick<EmptyStateProps, 'icon' | 'title'> & { text: ReactNode };
  /** Above the list. */
  children?: ReactNode;
}

/** A page of the menu with a list of records. */
export function RecordPage<Item>({ title, action, query, empty, children, ...list }: RecordPageProps<Item>) {
  return (
    <Page title={title} actions={action}>
      {children}
      <Loaded query={query}>
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon={empty.icon} title={empty.title} action={action}>
              {empty.text}
            </EmptyState>
          ) : (
            <RecordList items={items} {...list} />
          )
        }
      </Loaded>
    </Page>
  );
}

/** Leads to the page that creates a record. */
export function NewLink({ to, children }: { to: string; children: string }) {
  return (
    <Button component={Link} to={to} leftSection={<IconPlus size={16} aria-hidden />}>
      {children}
    </Button>
  );
}

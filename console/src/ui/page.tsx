import { Button, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { IconMapOff } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { EmptyState, ErrorState, isNotFound } from './blank-state.tsx';
import { Name } from './text/record-name.tsx';
import { visibleText } from './text/visible-text.ts';

export { EmptyState, type EmptyStateProps } from './blank-state.tsx';

/** A page above this one: `{ to: '/endpoints', label: 'Endpoints' }`. */
export interface Crumb {
  to: string;
  label: string;
}

interface PageProps {
  title: string;
  /** The pages above this one, outermost first. Pages of the menu have none. */
  parents?: readonly Crumb[];
  /** Beside the title: a state, a version. */
  status?: ReactNode;
  /** Below the title: an id to copy, one sentence. */
  description?: ReactNode;
  /** Buttons at the right. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A page: breadcrumbs, heading with what belongs to it, content. */
export function Page({ title, parents = [], status, description, actions, children }: PageProps) {
  useDocumentTitle(visibleText([title, ...parents.map(({ label }) => label).reverse(), 'Podyard'].join(' · ')));
  return (
    <Stack gap="lg" className="page">
      <Stack gap={6} component="header">
        {parents.length > 0 && <Breadcrumbs parents={parents} title={title} />}
        <div className="page-head">
          <Group gap="sm" miw={0}>
            <Title order={1} size="h2" className="page-title" title={visibleText(title)} tabIndex={-1}>
              <Name>{title}</Name>
            </Title>
            {status}
          </Group>
          {description && (
            <Text component="div" size="sm" c="dimmed" className="page-description">
              {description}
            </Text>
          )}
          {actions && (
            <Group gap="xs" className="page-actions">
              {actions}
            </Group>
          )}
        </div>
      </Stack>
      {children}
    </Stack>
  );
}

function Breadcrumbs({ parents, title }: { parents: readonly Crumb[]; title: string }) {
  return (
    <nav aria-label="Breadcrumbs">
      <ol className="breadcrumbs">
        {parents.map(({ to, label }) => (
          <li key={to}>
            <Link to={to}>{label}</Link>
          </li>
        ))}
        <li aria-current="page" title={visibleText(title)}>
          <Name>{title}</Name>
        </li>
      </ol>
    </nav>
  );
}

/** In place of a section that the page of a record doesn't have: `what` is the record's kind. */
export function NoSection({ what, to }: { what: string; to: string }) {
  const action = (
    <Button variant="default" component={Link} to={to}>
      Go to the {what}
    </Button>
  );
  const article = /^[aeiou]/.test(what) ? 'An' : 'A';
  return (
    <EmptyState icon={IconMapOff} title={`${article} ${what} has no such section`} action={action}>
      Check the URL.
    </EmptyState>
  );
}

/** Placeholder of a page while it loads; keeps the layout from shifting. */
export function PageSkeleton() {
  return (
    <Stack gap="lg" className="page" role="group" aria-busy="true" aria-label="Loading">
      <Skeleton h={34} w={220} />
      <RowsSkeleton />
    </Stack>
  );
}

export function RowsSkeleton({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="xs" role="group" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <Skeleton key={String(i)} h={38} />
      ))}
    </Stack>
  );
}

/** One line in place of a table or list that is empty for now. */
export function EmptyNote({ children }: { children: ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Text size="sm" c="dimmed" ta="center">
        {children}
      </Text>
    </Paper>
  );
}

export interface Loadable<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** Renders a query: its data, else its error, else a skeleton. Where there is no such record, a button leads to the `parent` list. */
export function Loaded<Data>(props: {
  query: Loadable<Data>;
  skeleton?: ReactNode;
  parent?: Crumb;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch } = props.query;
  if (data !== undefined) return props.children(data);
  if (!error) return props.skeleton ?? <RowsSkeleton />;
  const action = props.parent && isNotFound(error) && (
    <Button variant="default" component={Link} to={props.parent.to}>
      All {props.parent.label.toLowerCase()}
    </Button>
  );
  return <ErrorState error={error} retry={() => void refetch()} {...(action && { action })} />;
}

/** Renders the query of a record that is a page of its own. `what` is the record's kind, `parent` the list of its kind. */
export function LoadedPage<Data>(props: {
  query: Loadable<Data>;
  what: string;
  parent: Crumb;
  children: (data: Data) => ReactNode;
}) {
  const { what, parent, ...loaded } = props;
  const content = <Loaded {...loaded} parent={parent} skeleton={<PageSkeleton />} />;
  if (loaded.query.data !== undefined || !loaded.query.error) return content;
  return (
    <Page title={what} parents={[parent]}>
      {content}
    </Page>
  );
}

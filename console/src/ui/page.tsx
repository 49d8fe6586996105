import { Group, Paper, Skeleton, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ComponentType, ReactNode } from 'react';
import { ErrorAlert } from './error-alert.tsx';

/** A page: heading, actions beside it, content. */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  useDocumentTitle(`${title} · Podyard`);
  return (
    <Stack gap="lg" maw={1280} mx="auto">
      <Group justify="space-between" gap="sm">
        <Title order={1} size="h2">
          {title}
        </Title>
        <Group gap="xs">{actions}</Group>
      </Group>
      {children}
    </Stack>
  );
}

/** Placeholder of a page while it loads; keeps the layout from shifting. */
export function PageSkeleton() {
  return (
    <Stack gap="lg" maw={1280} mx="auto" aria-busy="true" aria-label="Loading">
      <Skeleton h={34} w={220} />
      <RowsSkeleton />
    </Stack>
  );
}

export function RowsSkeleton({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="xs" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <Skeleton key={String(i)} h={38} />
      ))}
    </Stack>
  );
}

/** An empty list: what its records are for, and how to create the first one. */
export function EmptyState(props: {
  icon: ComponentType<{ size?: number }>;
  title: string;
  children: ReactNode;
  action?: ReactNode;
}) {
  const Icon = props.icon;
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="sm" maw={520} mx="auto" ta="center">
        <ThemeIcon size={48} radius="xl" variant="light" aria-hidden>
          <Icon size={26} />
        </ThemeIcon>
        <Title order={2} size="h4">
          {props.title}
        </Title>
        <Text size="sm" c="dimmed">
          {props.children}
        </Text>
        {props.action}
      </Stack>
    </Paper>
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

interface Loadable<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** Renders a query: its data, else its error, else a skeleton. */
export function Loaded<Data>(props: {
  query: Loadable<Data>;
  skeleton?: ReactNode;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch } = props.query;
  if (data !== undefined) return props.children(data);
  if (error) return <ErrorAlert error={error} retry={() => void refetch()} />;
  return props.skeleton ?? <RowsSkeleton />;
}

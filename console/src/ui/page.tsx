import { Alert, Button, Group, Paper, Skeleton, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ComponentType, ReactNode } from 'react';
import { messageOf } from './notify.ts';

/** A page with its heading and what can be done on it. */
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

/** Holds the place of a page, so that nothing jumps when it comes. */
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

/** What a list shows before it has anything: what the things are for, and the way to the first one. */
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

/** Why something could not be shown, and a way to try again. */
export function Refusal({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <Alert color="red" role="alert" title={messageOf(error)}>
      {retry && (
        <Button size="xs" variant="light" color="red" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

interface Loadable<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** A query's three faces: its place held, its refusal, its data. */
export function Loaded<Data>(props: {
  query: Loadable<Data>;
  skeleton?: ReactNode;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch } = props.query;
  if (data !== undefined) return props.children(data);
  if (error) return <Refusal error={error} retry={() => void refetch()} />;
  return props.skeleton ?? <RowsSkeleton />;
}

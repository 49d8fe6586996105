import { Button, Paper, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconLock, IconMapOff } from '@tabler/icons-react';
import type { ComponentType, ReactNode } from 'react';
import { ApiError, messageOf } from '../api/api-error.ts';
import { visibleText } from './text/visible-text.ts';

export interface EmptyStateProps {
  icon: ComponentType<{ size?: number; stroke?: number }>;
  title: string;
  children: ReactNode;
  action?: ReactNode;
}

/** In place of content that is not there: why, and what to do. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <Paper withBorder p="xl" className="blank">
      <Stack align="center" gap={6} maw={520} mx="auto" ta="center">
        <span className="blank-icon" aria-hidden>
          <Icon size={20} stroke={1.6} />
        </span>
        <Title order={2} size="h4" className="anywhere">
          {visibleText(title)}
        </Title>
        <Text size="sm" c="dimmed" component="div">
          {children}
        </Text>
        {action && <div className="blank-action">{action}</div>}
      </Stack>
    </Paper>
  );
}

/** In place of content that was not read: not there, not allowed, or failed. */
export function ErrorState({ error, retry, action }: { error: unknown; retry?: () => void; action?: ReactNode }) {
  const { icon, help } = lookOf(error);
  const again = retry && !isFinal(error) && (
    <Button variant="default" onClick={retry}>
      Try again
    </Button>
  );
  return (
    <div role="alert">
      <EmptyState icon={icon} title={messageOf(error)} action={action ?? again}>
        {help}
      </EmptyState>
    </div>
  );
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** True if asking again has the same answer. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 403);
}

function lookOf(error: unknown): { icon: EmptyStateProps['icon']; help: string } {
  if (isNotFound(error)) {
    return { icon: IconMapOff, help: 'Check the URL. It may have been deleted, or belong to another account.' };
  }
  if (isFinal(error)) return { icon: IconLock, help: 'Ask an owner or an admin, or use another key.' };
  return { icon: IconAlertTriangle, help: 'What runs is not affected.' };
}

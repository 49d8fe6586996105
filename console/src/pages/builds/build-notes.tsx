import { Alert, Anchor, Button, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { BASE_URL } from '../../api/client.ts';
import { installationQuery } from '../../api/queries.ts';
import { EmptyState } from '../../ui/page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';

/** Why this installation builds nothing, and what to do instead; null: it builds, or the key may not know. */
export function useBuildHindrance(): string | null {
  return useQuery(installationQuery).data?.buildHindrance ?? null;
}

/** In place of builds that the key may not read. */
export function BuildRefusal() {
  return (
    <EmptyState
      icon={IconLock}
      title="Your API key may not read builds"
      action={
        <Button component={Link} to="/keys" variant="default">
          API keys
        </Button>
      }
    >
      It needs the scope builds:read. Create a key that has it, or ask whoever gave you this one.
    </EmptyState>
  );
}

/** Above builds of an installation that builds no more of them. */
export function HindranceAlert({ hindrance }: { hindrance: string }) {
  return (
    <Alert color="orange">
      <Text size="sm">
        {visibleText(hindrance)} <BuildsGuide />
      </Text>
    </Alert>
  );
}

export function BuildsGuide() {
  return (
    <Anchor href={`${BASE_URL}/docs/builds`} target="_blank" size="sm" underline="always">
      Where images are built
    </Anchor>
  );
}

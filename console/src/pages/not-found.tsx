import { Button } from '@mantine/core';
import { IconMapOff } from '@tabler/icons-react';
import { Link } from 'react-router';
import { EmptyState, Page } from '../ui/page.tsx';

export function NotFoundPage() {
  return (
    <Page title="Nothing here">
      <EmptyState
        icon={IconMapOff}
        title="This page does not exist"
        action={
          <Button component={Link} to="/">
            To the overview
          </Button>
        }
      >
        The address may be mistyped, or what it was about is gone.
      </EmptyState>
    </Page>
  );
}

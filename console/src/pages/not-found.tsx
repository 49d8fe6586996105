import { Button } from '@mantine/core';
import { IconMapOff } from '@tabler/icons-react';
import { Link } from 'react-router';
import { EmptyState, Page } from '../ui/page.tsx';

export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <EmptyState
        icon={IconMapOff}
        title="This page doesn't exist"
        action={
          <Button component={Link} to="/">
            Go to overview
          </Button>
        }
      >
        Check the URL. What it pointed to may have been deleted.
      </EmptyState>
    </Page>
  );
}

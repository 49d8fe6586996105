import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconMapOff } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useRouteError } from 'react-router';
import { messageOf } from '../api/api-error.ts';
import { OWN_BUILD } from '../api/page-version.ts';
import { EmptyState, Page } from '../ui/page.tsx';
import { errorReport, isLoadError } from './error-report.ts';

/** In place of a page that failed while it was rendered; the rest of the console keeps working. */
export function PageError() {
  const error = useRouteError();
  const [at] = useState(() => new Date().toISOString());
  const report = errorReport(error, {
    path: location.hash || '#/',
    build: OWN_BUILD,
    browser: navigator.userAgent,
    at,
  });
  return (
    <Page title={isLoadError(error) ? "This page couldn't be loaded" : "This page can't be shown"}>
      <Stack gap="md" maw={760} role="alert">
        <Group gap="sm" wrap="nowrap" align="flex-start">
          <IconAlertTriangle size={20} aria-hidden className="error-icon" />
          <Text size="sm">
            {isLoadError(error)
              ? 'A script of the console did not arrive. The server may have been updated; a reload gets the new one.'
              : 'The console has a defect here. Endpoints, pods and jobs are not affected, and other pages work.'}
          </Text>
        </Group>
        <Text size="sm" fw={550} style={{ overflowWrap: 'anywhere' }}>
          {messageOf(error)}
        </Text>
        <Group gap="xs">
          <Button onClick={() => location.reload()}>Reload</Button>
          <Button variant="default" component="a" href="#/">
            Go to overview
          </Button>
          <CopyButton value={report}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy details'}
              </Button>
            )}
          </CopyButton>
        </Group>
        <details>
          <summary>Details</summary>
          <Code block className="reason" mt="xs">
            {report}
          </Code>
        </details>
      </Stack>
    </Page>
  );
}

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

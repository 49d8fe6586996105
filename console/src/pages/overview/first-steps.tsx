import { Anchor, Button, Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { BASE_URL } from '../../api/client.ts';
import { CopyableText } from '../../ui/copyable.tsx';

/** The first steps on a new installation, in order. */
export function FirstSteps() {
  return (
    <Paper withBorder p="lg" component="section" aria-labelledby="first-steps">
      <Title order={2} size="h3" id="first-steps">
        Deploy your first endpoint
      </Title>
      <Text size="sm" c="dimmed" mt={4} mb="lg" maw={620}>
        An endpoint runs your image and scales its workers with demand, down to zero. Three steps to the first answer:
      </Text>
      <ol className="steps">
        <Step title="Deploy a worker image">
          <Text size="sm" c="dimmed" mb="sm">
            To try it, use <b>podyard/echo-js:dev</b>: it answers with what it is sent.
          </Text>
          <Button component={Link} to="/endpoints/new">
            Deploy endpoint
          </Button>
        </Step>
        <Step title="Send it a job">
          <Text size="sm" c="dimmed">
            On the endpoint's Request tab, or from your program: the tab shows the same call in curl, JavaScript and
            Python.
          </Text>
        </Step>
        <Step title="Watch it work">
          <Text size="sm" c="dimmed">
            A worker starts, takes the job and stops when it is idle. Its logs, and why it came and went, are on the
            same page.
          </Text>
        </Step>
      </ol>
      <div className="steps-foot">
        <CopyableText label="All at once, in a terminal:" text="podyard demo" />
        <Text size="sm">
          Something that keeps running?{' '}
          <Anchor component={Link} to="/pods/new" size="sm" underline="always">
            Create a pod
          </Anchor>
          . Or read the{' '}
          <Anchor href={`${BASE_URL}/docs/`} target="_blank" size="sm" underline="always">
            guide
          </Anchor>
          .
        </Text>
      </div>
    </Paper>
  );
}

function Step({ title, children }: { title: string; children: ReactNode }) {
  return (
    <li>
      <Text fw={600} size="sm" mb={4}>
        {title}
      </Text>
      {children}
    </li>
  );
}

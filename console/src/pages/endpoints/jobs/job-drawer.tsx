import { Anchor, CloseButton, Drawer, Group, Skeleton, Stack, Text, Timeline, Title } from '@mantine/core';
import { Link } from 'react-router';
import { ApiError } from '../../../api/api-error.ts';
import { CopyableId } from '../../../ui/copyable-id.tsx';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { Hint } from '../../../ui/hint.tsx';
import { EmptyNote } from '../../../ui/page.tsx';
import { formatDuration } from '../../../ui/text/format.ts';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import { JobActions } from './job-actions.tsx';
import { JobChunks, JobFacts, JobOutcome, JobWait, useJobDetail } from './job-result.tsx';
import { type JobDetail, type Step, stepsOf } from './job-steps.ts';
import { StoredPayload } from './payload-view.tsx';

interface JobDrawerProps {
  endpointId: string;
  jobId: string | null;
  onClose: () => void;
  /** Shows another job in its place. */
  onOpen: (jobId: string) => void;
}

/** One job: why it waits, what it returned, what happened to it, and what can be done with it. */
export function JobDrawer({ jobId, onClose, ...props }: JobDrawerProps) {
  return (
    <Drawer.Root opened={jobId !== null} onClose={onClose} position="right" size="xl">
      <Drawer.Overlay />
      <Drawer.Content aria-label="Job">
        <Drawer.Body>
          {/* Not Mantine's header: to screen readers it would be a second header of the page. */}
          <Group justify="space-between" py="sm">
            <Title order={2} size="h3">
              Job
            </Title>
            <CloseButton onClick={onClose} aria-label="Close" />
          </Group>
          {jobId !== null && <JobView key={jobId} jobId={jobId} {...props} />}
        </Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}

function JobView({ endpointId, jobId, onOpen }: { endpointId: string; jobId: string; onOpen: (id: string) => void }) {
  const { data: job, error, refetch } = useJobDetail(endpointId, jobId);
  if (error instanceof ApiError && error.status === 404) {
    return (
      <EmptyNote>This job does not exist, or its result has expired: results are kept for a limited time.</EmptyNote>
    );
  }
  if (job === undefined) {
    return error ? (
      <ErrorAlert error={error} retry={() => void refetch()} />
    ) : (
      <Skeleton h={320} aria-label="Loading" />
    );
  }
  return (
    <Stack gap="md">
      <Group justify="space-between" gap="xs">
        <CopyableId id={job.id} what="job ID" />
        <Notes job={job} />
      </Group>
      <JobFacts job={job} />
      <JobActions endpointId={endpointId} job={job} onOpen={onOpen} />
      <JobWait wait={job.wait} />
      <JobOutcome endpointId={endpointId} job={job} />
      {job.chunks > 0 && <JobChunks key={job.finishedAt} endpointId={endpointId} job={job} />}
      <StoredPayload
        title="Input"
        path={`/v2/serverless/${endpointId}/requests/${job.id}/input`}
        bytes={job.inputBytes}
        fileName={`${job.id}-input.json`}
        version=""
      />
      <JobTimeline endpointId={endpointId} job={job} />
    </Stack>
  );
}

/** Its priority, batch and limits, and how long it is kept. */
function Notes({ job }: { job: JobDetail }) {
  const notes = [
    job.lowPriority ? 'Low priority' : null,
    job.batchId === null ? null : `Of batch ${job.batchId}`,
    job.executionTimeout === null ? null : `Time limit ${formatDuration(job.executionTimeout)}`,
  ].filter((note) => note !== null);
  return (
    <Text size="xs" c="dimmed" component="div">
      {notes.map((note) => `${note} · `)}
      {job.keptUntil !== null && (
        <>
          Result expires <RelativeTime at={job.keptUntil} />
        </>
      )}
      {job.expiresAt !== null && (
        <>
          Times out <RelativeTime at={job.expiresAt} />
        </>
      )}
    </Text>
  );
}

const COLORS: Record<Step['tone'], string> = { plain: 'gray', good: 'green', bad: 'red' };

function JobTimeline({ endpointId, job }: { endpointId: string; job: JobDetail }) {
  const steps = stepsOf(job);
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        Timeline
      </Text>
      <Timeline bulletSize={11} lineWidth={2} active={steps.length} aria-label="Timeline" className="job-steps">
        {steps.map((step) => (
          <Timeline.Item
            key={`${step.at} ${step.label}`}
            color={step.isOpen ? 'yard' : COLORS[step.tone]}
            lineVariant={step.isOpen ? 'dashed' : 'solid'}
            title={
              <Group justify="space-between" gap="xs" wrap="nowrap" align="baseline">
                <Text size="sm">{step.label}</Text>
                <Text size="xs" c="dimmed" className="figure" component="div" style={{ whiteSpace: 'nowrap' }}>
                  {step.ms === null ? <RelativeTime at={step.at} /> : formatDuration(step.ms)}
                </Text>
              </Group>
            }
          >
            {step.workerId !== null && (
              <Hint size="xs">
                on worker{' '}
                <Anchor
                  size="xs"
                  underline="always"
                  component={Link}
                  to={`/endpoints/${endpointId}/logs?worker=${step.workerId}`}
                >
                  {step.workerId}
                </Anchor>
              </Hint>
            )}
            {step.detail !== null && (
              <Text size="xs" c="dimmed" className="reason">
                {step.detail}
              </Text>
            )}
          </Timeline.Item>
        ))}
      </Timeline>
    </Stack>
  );
}

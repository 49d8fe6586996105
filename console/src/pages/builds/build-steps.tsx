import { Group, Stack, Text, Timeline, Title } from '@mantine/core';
import { Elapsed } from '../../ui/text/elapsed-view.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { type Build, type BuildStep, isBuilding, stepNote } from './build-values.ts';

const COLORS: Readonly<Record<BuildStep['status'], string>> = {
  RUNNING: 'yard',
  COMPLETED: 'green',
  CACHED: 'gray',
  FAILED: 'red',
};

/** The steps of a build in their order, with how long each took; one that runs counts up. */
export function BuildSteps({ build }: { build: Build }) {
  const { steps } = build;
  return (
    <Stack gap="xs" component="section" aria-label="Steps">
      <Title order={2} size="h5">
        Steps
      </Title>
      {steps.length === 0 ? (
        <Text size="sm" c="dimmed">
          {build.endedAt === null ? 'None has begun.' : 'There were none: the folder was taken as it is.'}
        </Text>
      ) : (
        <Timeline bulletSize={11} lineWidth={2} active={steps.length} aria-label="Steps" className="job-steps">
          {steps.map((step) => stepItem(step, build))}
        </Timeline>
      )}
    </Stack>
  );
}

/** No component: a timeline numbers its own items. */
function stepItem(step: BuildStep, build: Build) {
  const isOpen = step.status === 'RUNNING' && isBuilding(build);
  const note = stepNote(step, build);
  const until = step.endedAt ?? (isOpen ? null : (build.endedAt ?? step.startedAt));
  return (
    <Timeline.Item
      key={`${step.startedAt} ${step.name}`}
      color={note === 'Stopped' ? 'gray' : COLORS[step.status]}
      lineVariant={isOpen ? 'dashed' : 'solid'}
      title={
        <Group justify="space-between" gap="xs" wrap="nowrap" align="baseline">
          <Text size="sm" className="anywhere">
            <Name>{step.name}</Name>
          </Text>
          <Text size="xs" c="dimmed" component="div" style={{ whiteSpace: 'nowrap' }}>
            {step.status !== 'CACHED' && <Elapsed from={step.startedAt} to={until} />}
          </Text>
        </Group>
      }
    >
      {note !== null && (
        <Text size="xs" {...(note === 'Failed' ? { className: 'bad' } : { c: 'dimmed' })}>
          {note}
        </Text>
      )}
    </Timeline.Item>
  );
}

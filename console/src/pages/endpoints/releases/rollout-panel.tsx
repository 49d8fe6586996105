import { Button, Group, Paper, Progress, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { Hint } from '../../../ui/hint.tsx';
import { ReasonAlert } from '../../../ui/text/reason-view.tsx';
import { rolloutText, rolloutWait, trialText } from './release-text.ts';

/** The progress of the roll-out, what it waits for, its trial, and buttons that pause, resume and try it. */
export function RolloutPanel({ endpointId: id, snapshot }: { endpointId: string; snapshot: EndpointSnapshot }) {
  const { rollout, endpointVersion } = snapshot;
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (action: Schemas['ChangeRolloutRequest']['action']) =>
      unwrap(api.POST('/v2/serverless/{id}/rollout', { params: { path: { id } }, body: { action } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['releases', id] }),
  });
  const wait = rolloutWait(snapshot);
  const trial = trialText(snapshot);
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs" align="flex-start">
        <div>
          <Text size="sm">{rolloutText(rollout, endpointVersion)}</Text>
          {wait !== null && <Hint>{wait}</Hint>}
          {trial !== null && trial.failure === null && <Hint>{trial.title}</Hint>}
        </div>
        <Group gap="xs">
          {trial !== null && trial.action !== null && (
            <Button
              size="xs"
              variant="default"
              miw="max-content"
              loading={change.isPending}
              onClick={() => change.mutate('try')}
            >
              {trial.action}
            </Button>
          )}
          {(rollout.inProgress || rollout.paused) && (
            <Button
              size="xs"
              variant="default"
              miw="max-content"
              loading={change.isPending}
              onClick={() => change.mutate(rollout.paused ? 'resume' : 'pause')}
            >
              {rollout.paused ? 'Resume roll-out' : 'Pause roll-out'}
            </Button>
          )}
        </Group>
      </Group>
      {trial !== null && trial.failure !== null && (
        <ReasonAlert color="red" title={trial.title} reason={trial.failure} />
      )}
      <Progress value={rollout.percentOnLatest} aria-label="Rollout" />
    </Paper>
  );
}

import { Button, Group, Paper, Progress, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '../../../api/client.ts';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { Hint } from '../../../ui/hint.tsx';
import { rolloutText, rolloutWait } from './release-text.ts';

/** The progress of the roll-out, what it waits for, and while one runs a button that pauses or resumes it. */
export function RolloutPanel({ endpointId: id, snapshot }: { endpointId: string; snapshot: EndpointSnapshot }) {
  const { rollout, endpointVersion } = snapshot;
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (action: 'pause' | 'resume') =>
      unwrap(api.POST('/v2/serverless/{id}/rollout', { params: { path: { id } }, body: { action } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['releases', id] }),
  });
  const wait = rolloutWait(snapshot);
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs" wrap="nowrap" align="flex-start">
        <div>
          <Text size="sm">{rolloutText(rollout, endpointVersion)}</Text>
          {wait !== null && <Hint>{wait}</Hint>}
        </div>
        {(rollout.inProgress || rollout.paused) && (
          <Button
            size="xs"
            variant="default"
            miw="max-content"
            loading={change.isPending}
            onClick={() => change.mutate(rollout.paused ? 'resume' : 'pause')}
          >
            {rollout.paused ? 'Resume rollout' : 'Pause rollout'}
          </Button>
        )}
      </Group>
      <Progress value={rollout.percentOnLatest} aria-label="Rollout" />
    </Paper>
  );
}

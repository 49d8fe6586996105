import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { ConfirmDelete } from '../../ui/confirm-delete.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { type Endpoint, endpointValues } from './endpoint-values.ts';
import { saveEndpoint } from './save-endpoint.ts';
import { ScheduleForm } from './schedule-form.tsx';

export function Settings({ endpoint }: { endpoint: Endpoint }) {
  const queries = useQueryClient();
  const initial = endpointValues(endpoint);
  return (
    <Stack>
      <EndpointForm
        key={JSON.stringify(initial)}
        isNew={false}
        initial={initial}
        onSubmit={async (values) => {
          const updated = await saveEndpoint(endpoint.id, initial, values);
          queries.setQueryData(['endpoint', endpoint.id], updated);
          await queries.invalidateQueries({ queryKey: ['releases', endpoint.id] });
          notifySuccess('Changes saved.');
        }}
      />
      <ScheduleForm endpointId={endpoint.id} />
      <DeleteEndpoint endpoint={endpoint} />
    </Stack>
  );
}

function DeleteEndpoint({ endpoint: { id, name } }: { endpoint: Endpoint }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <Paper withBorder p="md" maw={820}>
      <Group justify="space-between">
        <div>
          <Title order={2} size="h5">
            Delete endpoint
          </Title>
          <Text size="sm" c="dimmed">
            Stops all workers and cancels queued and running jobs.
          </Text>
        </div>
        <Button color="red" variant="light" onClick={open}>
          Delete…
        </Button>
      </Group>
      <ConfirmDelete
        what="endpoint"
        name={name}
        consequence="Stops all workers immediately and cancels queued and running jobs. You can't undo this."
        isOpen={isOpen}
        onClose={close}
        onConfirm={() => unwrap(api.DELETE('/v2/serverless/{id}', { params: { path: { id } } }))}
        onDone={() => {
          notifySuccess(`Deleted ${name}.`);
          void queries.invalidateQueries({ queryKey: ['endpoints'] });
          navigate('/endpoints');
        }}
      />
    </Paper>
  );
}

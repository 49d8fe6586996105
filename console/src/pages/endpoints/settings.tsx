import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { ConfirmDelete } from '../../ui/confirm-delete.tsx';
import { showDone } from '../../ui/notify.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { changesOf, type Endpoint, valuesOf } from './endpoint-values.ts';

export function Settings({ endpoint }: { endpoint: Endpoint }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isDeleting, { open, close }] = useDisclosure(false);
  const path = { id: endpoint.id };
  const initial = valuesOf(endpoint);
  return (
    <Stack>
      <EndpointForm
        key={JSON.stringify(initial)}
        isNew={false}
        initial={initial}
        onSubmit={async (values) => {
          const body = changesOf(initial, values);
          const updated = await unwrap(api.PATCH('/v2/serverless/{id}', { params: { path }, body }));
          queries.setQueryData(['endpoint', endpoint.id], updated);
          await queries.invalidateQueries({ queryKey: ['releases', endpoint.id] });
          showDone('Saved.');
        }}
      />
      <Paper withBorder p="md" maw={820}>
        <Group justify="space-between">
          <div>
            <Title order={2} size="h5">
              Delete this endpoint
            </Title>
            <Text size="sm" c="dimmed">
              Its workers end, and its waiting and running jobs are cancelled.
            </Text>
          </div>
          <Button color="red" variant="light" onClick={open}>
            Delete…
          </Button>
        </Group>
      </Paper>
      <ConfirmDelete
        what="endpoint"
        name={endpoint.name}
        consequence="Its workers end at once, and its waiting and running jobs are cancelled. This cannot be undone."
        isOpen={isDeleting}
        onClose={close}
        onConfirm={() => unwrap(api.DELETE('/v2/serverless/{id}', { params: { path } }))}
        onDone={() => {
          showDone(`${endpoint.name} is deleted.`);
          void queries.invalidateQueries({ queryKey: ['endpoints'] });
          navigate('/endpoints');
        }}
      />
    </Stack>
  );
}

import { Button, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconCopyPlus, IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { api, BASE_URL, unwrap } from '../../api/client.ts';
import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { modelsQuery } from '../../api/queries.ts';
import { ConfirmDelete } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { Status } from '../../ui/text/status.tsx';
import { endpointUrls, servesModels } from './endpoint-urls.ts';
import type { Endpoint } from './settings/endpoint-values.ts';
import { ENDPOINT_STATES, stateSentence } from './state-text.ts';

/** The state in words, and what clients are configured with. */
export function EndpointDescription(props: { endpoint: Endpoint; snapshot: EndpointSnapshot | undefined }) {
  const { endpoint, snapshot } = props;
  const models = useQuery(modelsQuery);
  const urls = endpointUrls(BASE_URL, endpoint, servesModels(models.data ?? [], endpoint));
  return (
    <Stack gap={2}>
      <Text size="sm" component="div" mih={20} role="status">
        {snapshot && (
          <Status table={ENDPOINT_STATES} value={snapshot.state.state} text={stateSentence(snapshot.state)} />
        )}
      </Text>
      <Group gap="2px 16px">
        <CopyableId id={endpoint.id} />
        {urls.map(({ what, url }) => (
          <CopyableId key={what} id={url} what={what} />
        ))}
      </Group>
    </Stack>
  );
}

export function EndpointActions({ endpoint: { id, name } }: { endpoint: Endpoint }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        component={Link}
        to={`/endpoints/new?from=${id}`}
        leftSection={<IconCopyPlus size={16} aria-hidden />}
      >
        Duplicate
      </Button>
      <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={open}>
        Delete…
      </Button>
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
    </>
  );
}

import { Anchor, Button, Code, Group, Paper, Progress, SimpleGrid, Stack, Table, Tabs, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import { ConfirmDelete } from '../../ui/confirm-delete.tsx';
import { Figures } from '../../ui/figures.tsx';
import { formatDate, formatDuration, formatUsd } from '../../ui/format.ts';
import { LogView } from '../../ui/log-view.tsx';
import { showDone } from '../../ui/notify.ts';
import { Loaded, Page, PageSkeleton } from '../../ui/page.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import { hardwareOf, type Pod } from './pods.tsx';
import { portUrl } from './port-url.ts';

export function PodPage() {
  const { id = '', tab = 'pod' } = useParams();
  const navigate = useNavigate();
  const query = useQuery({
    queryKey: ['pod', id],
    queryFn: () => unwrap(api.GET('/v2/pods/{id}', { params: { path: { id } } })),
  });
  const { snapshot } = useLive<Schemas['PodList']>('/v2/pods/live');
  const live = snapshot?.pods.find((candidate) => candidate.id === id);
  return (
    <Loaded query={{ ...query, data: live ?? query.data }} skeleton={<PageSkeleton />}>
      {(pod) => (
        <Page title={pod.name} actions={<PodActions pod={pod} />}>
          <Tabs
            value={tab}
            onChange={(value) => navigate(`/pods/${id}/${value}`, { replace: true })}
            keepMounted={false}
          >
            <Tabs.List aria-label={`About ${pod.name}`} mb="md">
              <Tabs.Tab value="pod">Pod</Tabs.Tab>
              <Tabs.Tab value="logs">Logs</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="pod">
              <PodView pod={pod} />
            </Tabs.Panel>
            <Tabs.Panel value="logs">
              <LogView path={`/v2/pods/${id}/logs`} />
            </Tabs.Panel>
          </Tabs>
        </Page>
      )}
    </Loaded>
  );
}

function PodActions({ pod }: { pod: Pod }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isEnding, { open, close }] = useDisclosure(false);
  const params = { path: { id: pod.id } };
  const act = useMutation({
    mutationFn: (action: 'start' | 'stop' | 'restart') =>
      unwrap(api.POST('/v2/pods/{id}/action', { params, body: { action } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['pod', pod.id] }),
  });
  const labels = { start: 'Start', stop: 'Stop', restart: 'Restart' } as const;
  return (
    <>
      <Status value={pod.status} />
      {(['start', 'stop', 'restart'] as const)
        .filter((action) => pod.actions.includes(action))
        .map((action) => (
          <Button
            key={action}
            size="xs"
            variant="default"
            loading={act.isPending && act.variables === action}
            disabled={pod.locked && action !== 'start'}
            onClick={() => act.mutate(action)}
          >
            {labels[action]}
          </Button>
        ))}
      <Button size="xs" color="red" variant="light" onClick={open}>
        Terminate…
      </Button>
      <ConfirmDelete
        what="pod"
        name={pod.name}
        consequence="Its container ends and its persistent storage is destroyed. A network volume stays."
        isOpen={isEnding}
        onClose={close}
        onConfirm={() => unwrap(api.DELETE('/v2/pods/{id}', { params }))}
        onDone={() => {
          showDone(`${pod.name} is terminated.`);
          void queries.invalidateQueries({ queryKey: ['pods'] });
          navigate('/pods');
        }}
      />
    </>
  );
}

function PodView({ pod }: { pod: Pod }) {
  const { runtime } = pod;
  return (
    <Stack>
      <Figures
        figures={[
          { label: 'Hardware', value: hardwareOf(pod) },
          { label: 'Per hour', value: formatUsd(pod.cost) },
          { label: 'Data center', value: pod.dataCenterId ?? '–' },
          { label: 'Up for', value: runtime ? formatDuration(runtime.uptime * 1_000) : '–' },
        ]}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Panel title="Use" padding="md">
          {runtime ? (
            <Stack gap="xs">
              <Meter label="CPU" value={runtime.cpu.util} />
              <Meter label="Memory" value={runtime.memory.util} />
              {runtime.gpus.map((gpu, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a GPU has no other name
                <Meter key={index} label={`GPU ${index}`} value={gpu.util} />
              ))}
            </Stack>
          ) : (
            <Text size="sm" c="dimmed">
              Nothing is measured while it does not run.
            </Text>
          )}
        </Panel>
        <Panel title="Ports" padding="md">
          <Ports pod={pod} />
        </Panel>
      </SimpleGrid>
      <Paper withBorder p="md">
        <Table aria-label="Settings">
          <Table.Tbody>
            {[
              ['Id', <Code key="id">{pod.id}</Code>],
              ['Image', pod.image],
              ['Arguments', pod.args === '' ? '–' : <Code key="args">{pod.args}</Code>],
              ['Disk', `${pod.disk} GB`],
              [
                'Persistent storage',
                pod.mounts.persistent ? `${pod.mounts.persistent.size} GB at ${pod.mounts.persistent.path}` : '–',
              ],
              [
                'Network volume',
                pod.mounts.network?.map(({ volumeId, path }) => `${volumeId} at ${path}`).join() ?? '–',
              ],
              ['Environment', Object.keys(pod.env).join(', ') || '–'],
              ['Created', formatDate(pod.createdAt)],
            ].map(([label, value]) => (
              <Table.Tr key={label as string}>
                <Table.Td w={170} c="dimmed">
                  {label}
                </Table.Td>
                <Table.Td>{value}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Paper>
    </Stack>
  );
}

function Ports({ pod }: { pod: Pod }) {
  if (pod.ports.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        It exposes none.
      </Text>
    );
  }
  return (
    <Stack gap={4}>
      {pod.ports.map((item) => {
        const [port, protocol] = item.split('/') as [string, string];
        const published = pod.runtime?.ports.find((entry) => String(entry.private) === port && entry.type === protocol);
        return (
          <Group key={item} gap="sm">
            <Code>{item}</Code>
            {protocol === 'http' ? (
              <Anchor href={portUrl(pod.id, port)} target="_blank" rel="noreferrer" size="sm">
                Open
              </Anchor>
            ) : (
              <Text size="sm">
                {published?.public ? `${published.ip ?? ''}:${published.public}` : 'reachable while it runs'}
              </Text>
            )}
          </Group>
        );
      })}
    </Stack>
  );
}

function Meter({ label, value }: { label: string; value: number }) {
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm">{label}</Text>
        <Text size="sm" className="figure">
          {value.toFixed(0)} %
        </Text>
      </Group>
      <Progress value={value} aria-label={label} />
    </div>
  );
}

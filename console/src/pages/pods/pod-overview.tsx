import { Anchor, Code, Group, Paper, SimpleGrid, Stack, Switch, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { api, BASE_URL, unwrap } from '../../api/client.ts';
import { CopyableText } from '../../ui/copyable.tsx';
import { ErrorAlert } from '../../ui/error-alert.tsx';
import { Figures } from '../../ui/figures.tsx';
import { Hint } from '../../ui/hint.tsx';
import { Panel } from '../../ui/panel.tsx';
import { formatDuration, formatUsd, NO_VALUE } from '../../ui/text/format.ts';
import { ReasonAlert } from '../../ui/text/reason-view.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Utilization } from '../../ui/utilization.tsx';
import { describeHardware, describeMounts, type Pod, portRows, portUrl } from './pod-details.ts';
import { PodLifetime } from './pod-lifetime.tsx';
import { POD_FIELDS } from './pod-values.ts';

/** Where images serve Jupyter. */
const JUPYTER_PORT = '8888';

/** A pod's key figures, utilization, ports and settings. */
export function PodOverview({ pod }: { pod: Pod }) {
  const { runtime } = pod;
  return (
    <Stack>
      {pod.cluster && <ClusterNote cluster={pod.cluster} />}
      {pod.reason && <ReasonAlert color={pod.status === 'ERROR' ? 'red' : 'orange'} reason={pod.reason} />}
      <Figures
        figures={[
          { label: 'Hardware', value: describeHardware(pod) },
          { label: 'Cost per hour', value: formatUsd(pod.cost) },
          { label: 'Data center', value: pod.dataCenterId ?? NO_VALUE },
          { label: 'Uptime', value: runtime ? formatDuration(runtime.uptime * 1_000) : NO_VALUE },
        ]}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Panel title="Utilization" padding="md">
          {runtime ? <Utilization usage={runtime} /> : <Hint>Available while the pod is running.</Hint>}
        </Panel>
        <Panel title="Ports" padding="md">
          <Ports pod={pod} />
        </Panel>
      </SimpleGrid>
      <SettingsTable pod={pod} />
    </Stack>
  );
}

function ClusterNote({ cluster: { id, rank } }: { cluster: NonNullable<Pod['cluster']> }) {
  return (
    <Text size="sm">
      Rank {rank} of{' '}
      <Anchor component={Link} to={`/clusters/${id}`} size="sm">
        its cluster
      </Anchor>
      , whose pods start and end together.
    </Text>
  );
}

function Ports({ pod }: { pod: Pod }) {
  const rows = portRows(pod);
  if (rows.length === 0) return <Hint>No ports exposed.</Hint>;
  return (
    <Stack gap={4}>
      {rows.map(({ name, port, isHttp, address }) => (
        <Group key={name} gap="sm">
          <Code>{name}</Code>
          {isHttp ? (
            <Anchor href={portUrl(BASE_URL, pod.id, port)} target="_blank" rel="noreferrer" size="sm">
              Open
            </Anchor>
          ) : (
            <Text size="sm">{address ?? 'Available while the pod is running'}</Text>
          )}
        </Group>
      ))}
      {pod.ssh.direct && <CopyableText label="SSH command" text={pod.ssh.direct.command} />}
      {rows.some(({ port }) => port === JUPYTER_PORT) && <JupyterPassword id={pod.id} />}
      {rows.some(({ isHttp }) => isHttp) && <PodAccess id={pod.id} />}
    </Stack>
  );
}

function SettingsTable({ pod }: { pod: Pod }) {
  const { image, args, disk } = POD_FIELDS;
  const { persistent, network } = describeMounts(pod);
  const settings: Record<string, ReactNode> = {
    ID: <Code>{pod.id}</Code>,
    [image.label]: pod.image,
    [args.label]: pod.args === '' ? NO_VALUE : <Code>{pod.args}</Code>,
    [disk.label]: `${pod.disk} ${disk.unit}`,
    'Persistent storage': persistent,
    'Network volumes': network,
    Environment: Object.keys(pod.env).join(', ') || NO_VALUE,
    Created: <RelativeTime at={pod.createdAt} />,
    Ends: <PodLifetime id={pod.id} />,
  };
  return (
    <Paper withBorder p="md">
      <Table aria-label="Settings" layout="fixed">
        <Table.Tbody>
          {Object.entries(settings).map(([label, value]) => (
            <Table.Tr key={label}>
              <Table.Td c="dimmed" className="fact-name anywhere">
                {label}
              </Table.Td>
              <Table.Td className="anywhere">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

/** The password that Podyard made for a pod's Jupyter; nothing if it made none, or the key may not read it. */
function JupyterPassword({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ['pod-jupyter', id],
    queryFn: () => unwrap(api.GET('/v2/pods/{id}/jupyter', { params: { path: { id } } })),
    retry: false,
  });
  return data?.password ? <CopyableText label="Jupyter password" text={data.password} isHidden /> : null;
}

/** Makes the HTTP ports of a pod private or public. */
function PodAccess({ id }: { id: string }) {
  const queries = useQueryClient();
  const queryKey = ['pod-access', id];
  const params = { path: { id } };
  const access = useQuery({ queryKey, queryFn: () => unwrap(api.GET('/v2/pods/{id}/access', { params })) });
  const set = useMutation({
    mutationFn: (isPrivate: boolean) =>
      unwrap(api.PUT('/v2/pods/{id}/access', { params, body: { private: isPrivate } })),
    onSuccess: (data) => queries.setQueryData(queryKey, data),
  });
  return (
    <>
      <Switch
        label="Private"
        description="HTTP ports ask for an API key of yours. Browsers ask for a name and a password: enter any name, and the key as the password."
        checked={access.data?.private ?? false}
        disabled={access.data === undefined || set.isPending}
        onChange={(event) => set.mutate(event.currentTarget.checked)}
      />
      {set.error && <ErrorAlert error={set.error} />}
    </>
  );
}

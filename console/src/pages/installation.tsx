import { List, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../api/client.ts';

type Facts = Schemas['Installation'];

const RUNTIMES: Record<Facts['runtime'], string> = {
  docker: 'Containers of this machine',
  kubernetes: 'Pods of a Kubernetes cluster',
  process: 'Processes of this machine',
  simulated: 'Simulated: nothing runs',
};
const FROZEN: Record<Facts['freeze'], string> = {
  STOPPED: 'Stopped, in memory',
  PARKED: 'Parked, with little CPU',
  NONE: 'None: workers are not frozen',
};

/** What it runs on: what a user may rely on here and what only seems so. Nothing for a key that may not read it. */
export function Installation() {
  const { data } = useQuery({
    queryKey: ['installation'],
    queryFn: () => unwrap(api.GET('/v2/account/installation')),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (!data) return null;
  const facts = [
    { label: 'Workers and pods are', value: RUNTIMES[data.runtime] },
    { label: 'From each other they are', value: data.isolation ? 'Isolated' : 'Not isolated' },
    { label: 'GPUs are', value: data.gpus === 'REAL' ? 'Real' : 'Simulated: the CPU computes' },
    { label: 'Frozen workers are', value: FROZEN[data.freeze] },
    { label: 'Version', value: data.version },
    { label: 'Id', value: data.id },
  ];
  return (
    <Stack gap="sm" component="section" aria-labelledby="installation">
      <Title order={2} size="h4" id="installation">
        This installation
      </Title>
      <Paper withBorder p="md">
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" component="dl" m={0}>
          {facts.map(({ label, value }) => (
            <div key={label}>
              <Text component="dt" size="xs" c="dimmed">
                {label}
              </Text>
              <Text component="dd" size="sm" m={0}>
                {value}
              </Text>
            </div>
          ))}
        </SimpleGrid>
        {data.notices.length > 0 && (
          <List size="sm" c="dimmed" mt="md" aria-label="Worth knowing">
            {data.notices.map((notice) => (
              <List.Item key={notice}>{notice}.</List.Item>
            ))}
          </List>
        )}
      </Paper>
    </Stack>
  );
}

import { Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { notifySuccess } from '../../../ui/notify.ts';
import { Loaded } from '../../../ui/page.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { type CpuChoice, type Endpoint, endpointValues } from './endpoint-values.ts';
import { GpuRuleForm } from './gpu-rule-form.tsx';
import { readCpus, saveEndpoint } from './save-endpoint.ts';
import { ScheduleForm } from './schedule-form.tsx';

export function Settings({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Stack>
      {endpoint.cpu ? <CpuSettings endpoint={endpoint} /> : <SettingsForm endpoint={endpoint} />}
      {!endpoint.cpu && <GpuRuleForm endpoint={endpoint} />}
      <ScheduleForm endpointId={endpoint.id} />
    </Stack>
  );
}

function CpuSettings({ endpoint }: { endpoint: Endpoint }) {
  const query = useQuery({
    queryKey: ['endpoint', endpoint.id, 'cpus', endpoint.cpu],
    queryFn: async () => (await readCpus(endpoint)) ?? [],
  });
  return <Loaded query={query}>{(cpus) => <SettingsForm endpoint={endpoint} cpus={cpus} />}</Loaded>;
}

function SettingsForm({ endpoint, cpus }: { endpoint: Endpoint; cpus?: CpuChoice[] }) {
  const queries = useQueryClient();
  const initial = endpointValues(endpoint, cpus);
  return (
    <EndpointForm
      key={JSON.stringify(initial)}
      isNew={false}
      draftKey={`endpoint-${endpoint.id}`}
      initial={initial}
      onSubmit={async (values) => {
        const updated = await saveEndpoint(endpoint.id, initial, values);
        queries.setQueryData(['endpoint', endpoint.id], updated);
        await queries.invalidateQueries({ queryKey: ['endpoint', endpoint.id, 'cpus'] });
        await queries.invalidateQueries({ queryKey: ['releases', endpoint.id] });
        notifySuccess('Changes saved.');
      }}
    />
  );
}

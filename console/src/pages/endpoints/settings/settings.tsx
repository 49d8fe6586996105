import { Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '../../../api/client.ts';
import { notifySuccess } from '../../../ui/notify.ts';
import { makesRelease } from '../releases/makes-release.ts';
import { tryRelease } from '../releases/try-release.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { changedSettings, type Endpoint, endpointValues } from './endpoint-values.ts';
import { GpuRuleForm } from './gpu-rule-form.tsx';
import { ScheduleForm } from './schedule-form.tsx';

export function Settings({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Stack>
      <SettingsForm endpoint={endpoint} />
      {!endpoint.cpu && <GpuRuleForm endpoint={endpoint} />}
      <ScheduleForm endpointId={endpoint.id} />
    </Stack>
  );
}

function SettingsForm({ endpoint }: { endpoint: Endpoint }) {
  const queries = useQueryClient();
  const { id } = endpoint;
  const initial = endpointValues(endpoint);
  return (
    <EndpointForm
      key={JSON.stringify(initial)}
      endpoint={endpoint}
      draftKey={`endpoint-${id}`}
      initial={initial}
      onSubmit={async (values) => {
        const body = changedSettings(endpoint, values);
        const updated = await unwrap(api.PATCH('/v2/serverless/{id}', { params: { path: { id } }, body }));
        queries.setQueryData(['endpoint', id], updated);
        if (makesRelease(body)) await tryRelease(id);
        await queries.invalidateQueries({ queryKey: ['releases', id] });
        notifySuccess('Changes saved.');
      }}
    />
  );
}

import { Button, Fieldset, Group, MultiSelect, Stack, TagsInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { gpusQuery } from '../../../api/catalog-queries.ts';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { FormAlert } from '../../../ui/error-alert.tsx';
import { recordOptions } from '../../../ui/forms/fields.ts';
import { useSave } from '../../../ui/forms/use-save.ts';
import { Hint } from '../../../ui/hint.tsx';
import { notifySuccess } from '../../../ui/notify.ts';
import { Loaded } from '../../../ui/page.tsx';
import type { Endpoint } from './endpoint-values.ts';

type Rule = Schemas['GpuRule'];

/** Shows and replaces the rule that says which GPUs of its pools an endpoint may get. */
export function GpuRuleForm({ endpoint }: { endpoint: Endpoint }) {
  const path = { id: endpoint.id };
  const query = useQuery({
    queryKey: ['gpu-rule', endpoint.id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/gpu-rule', { params: { path } })),
  });
  return (
    <Fieldset legend="Which GPUs of its pools" maw={820}>
      <Loaded query={query}>{(rule) => <Editor key={JSON.stringify(rule)} endpoint={endpoint} rule={rule} />}</Loaded>
    </Fieldset>
  );
}

interface Values {
  excludedGpuTypes: string[];
  allowedCudaVersions: string[];
  minCudaVersion: string;
}

function Editor({ endpoint, rule }: { endpoint: Endpoint; rule: Rule }) {
  const queries = useQueryClient();
  const { data } = useQuery(gpusQuery);
  const { excludedGpuTypes, allowedCudaVersions, minCudaVersion } = rule;
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues: { excludedGpuTypes, allowedCudaVersions, minCudaVersion: minCudaVersion ?? '' },
  });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: ['excludedGpuTypes', 'allowedCudaVersions', 'minCudaVersion'],
    save: (values) =>
      unwrap(
        api.PUT('/v2/serverless/{id}/gpu-rule', {
          params: { path: { id: endpoint.id } },
          body: { ...values, minCudaVersion: values.minCudaVersion.trim() || null },
        }),
      ),
    onSaved: (saved) => {
      queries.setQueryData(['gpu-rule', endpoint.id], saved);
      void queries.invalidateQueries({ queryKey: ['endpoint', endpoint.id], exact: true });
      notifySuccess('GPU rule set.');
    },
  });
  const inPools = data?.gpus.filter(({ pool }) => pool !== null && endpoint.gpu?.pools.includes(pool));
  return (
    <form noValidate onSubmit={submit}>
      <Stack>
        <Hint>
          Workers get any GPU of the endpoint’s pools, except what you exclude here. A change replaces workers on other
          GPUs.
        </Hint>
        <MultiSelect
          label="Excluded GPU types"
          placeholder={form.values.excludedGpuTypes.length === 0 ? 'None' : ''}
          data={recordOptions(inPools)}
          {...form.getInputProps('excludedGpuTypes')}
        />
        <TextInput
          label="Oldest CUDA version"
          description="GPUs whose driver supports this version or a newer one, for example 12.8"
          placeholder="Any"
          maw={320}
          {...form.getInputProps('minCudaVersion')}
        />
        <TagsInput
          label="Allowed CUDA versions"
          description="Exactly these versions. Press Enter to add one."
          placeholder={form.values.allowedCudaVersions.length === 0 ? 'Any' : ''}
          {...form.getInputProps('allowedCudaVersions')}
        />
        <FormAlert errors={otherErrors} />
        <Group>
          <Button type="submit" variant="default" loading={isSaving} disabled={!form.isDirty()}>
            Set rule
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

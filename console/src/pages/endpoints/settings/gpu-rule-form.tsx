import { Button, Fieldset, MultiSelect, Stack, TagsInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { gpusQuery } from '../../../api/catalog-queries.ts';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { recordOptions } from '../../../ui/forms/fields.ts';
import { FormLayout } from '../../../ui/forms/form-layout.tsx';
import { Summary } from '../../../ui/forms/summary.tsx';
import { useSave } from '../../../ui/forms/use-save.ts';
import { notifySuccess } from '../../../ui/notify.ts';
import { Loaded } from '../../../ui/page.tsx';
import type { Endpoint } from './endpoint-values.ts';
import { type GpuRuleValues, gpuRuleSummary, gpuRuleValues, RULE_FIELDS } from './gpu-rule-values.ts';

type Rule = Schemas['GpuRule'];

/** Shows and replaces the rule that says which GPUs of its pools an endpoint may get. */
export function GpuRuleForm({ endpoint }: { endpoint: Endpoint }) {
  const path = { id: endpoint.id };
  const query = useQuery({
    queryKey: ['gpu-rule', endpoint.id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/gpu-rule', { params: { path } })),
  });
  return (
    <Loaded query={query}>{(rule) => <Editor key={JSON.stringify(rule)} endpoint={endpoint} rule={rule} />}</Loaded>
  );
}

function Editor({ endpoint, rule }: { endpoint: Endpoint; rule: Rule }) {
  const queries = useQueryClient();
  const { data } = useQuery(gpusQuery);
  const form = useForm<GpuRuleValues>({ mode: 'controlled', initialValues: gpuRuleValues(rule) });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: Object.keys(RULE_FIELDS),
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
  const { excludedGpuTypes, minCudaVersion, allowedCudaVersions } = RULE_FIELDS;
  return (
    <FormLayout
      onSubmit={submit}
      summary={<Summary label="Summary of the GPU rule" text={gpuRuleSummary(form.values, rule, inPools)} />}
      errors={otherErrors}
      actions={
        <Button type="submit" variant="default" loading={isSaving} disabled={!form.isDirty()}>
          Set rule
        </Button>
      }
    >
      <Fieldset legend="Which GPUs of its pools">
        <Stack>
          <MultiSelect
            label={excludedGpuTypes.label}
            placeholder={form.values.excludedGpuTypes.length === 0 ? 'None' : ''}
            data={recordOptions(inPools)}
            {...form.getInputProps('excludedGpuTypes')}
          />
          <TextInput
            label={minCudaVersion.label}
            description={minCudaVersion.help}
            placeholder="Any"
            maw={320}
            {...form.getInputProps('minCudaVersion')}
          />
          <TagsInput
            label={allowedCudaVersions.label}
            description={allowedCudaVersions.help}
            placeholder={form.values.allowedCudaVersions.length === 0 ? 'Any' : ''}
            {...form.getInputProps('allowedCudaVersions')}
          />
        </Stack>
      </Fieldset>
    </FormLayout>
  );
}

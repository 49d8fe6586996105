import { Button, Fieldset, SimpleGrid, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { CONTAINER_DETAILS, ContainerDetails, ContainerFields } from '../../ui/forms/container-fields.tsx';
import { FieldInput } from '../../ui/forms/field-input.tsx';
import { FormLayout } from '../../ui/forms/form-layout.tsx';
import { AdvancedFields } from '../../ui/forms/form-parts.tsx';
import { Summary } from '../../ui/forms/summary.tsx';
import { useDraft } from '../../ui/forms/use-draft.tsx';
import { usePriceList } from '../../ui/forms/use-price-list.ts';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { GpuFields, StartFields, StorageFields } from '../pods/pod-fields.tsx';
import { clusterSummary } from '../pods/pod-summary.ts';
import { CLUSTER_FIELDS, type ClusterValues, clusterBody, NEW_CLUSTER } from './cluster-values.ts';

export function NewClusterPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<ClusterValues>({ mode: 'controlled', initialValues: NEW_CLUSTER });
  const draft = useDraft(form, 'new-cluster', NEW_CLUSTER);
  const list = usePriceList();
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: [...Object.keys(CLUSTER_FIELDS), 'mounts'],
    save: (values) => unwrap(api.POST('/v2/clusters', { body: clusterBody(values) })),
    onSaved: async (cluster) => {
      draft.drop();
      await queries.invalidateQueries({ queryKey: ['clusters'] });
      notifySuccess(`Created ${cluster.name}.`);
      navigate(`/clusters/${cluster.id}`);
    },
  });
  return (
    <Page title="New cluster" parents={[{ to: '/clusters', label: 'Clusters' }]}>
      <FormLayout
        onSubmit={submit}
        note={draft.note}
        summary={<Summary text={clusterSummary(form.values, list)} />}
        errors={otherErrors}
        actions={
          <Button type="submit" loading={isSaving}>
            Create cluster
          </Button>
        }
      >
        <Fieldset legend="Cluster">
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <FieldInput form={form} fields={CLUSTER_FIELDS} name="name" />
            <FieldInput form={form} fields={CLUSTER_FIELDS} name="type" />
            <FieldInput form={form} fields={CLUSTER_FIELDS} name="podCount" />
          </SimpleGrid>
        </Fieldset>
        <Fieldset legend="Hardware of each pod">
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <GpuFields form={form} />
          </SimpleGrid>
        </Fieldset>
        <Fieldset legend="Container of each pod">
          <Stack>
            <ContainerFields form={form} fields={CLUSTER_FIELDS} />
          </Stack>
        </Fieldset>
        <StorageFields form={form} />
        <StartFields form={form} />
        <AdvancedFields fields={CLUSTER_FIELDS} names={CONTAINER_DETAILS} values={form.values}>
          <ContainerDetails form={form} fields={CLUSTER_FIELDS} />
        </AdvancedFields>
      </FormLayout>
    </Page>
  );
}

import { Button, Fieldset, Group, SimpleGrid, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { FormAlert } from '../../ui/error-alert.tsx';
import { ContainerFields } from '../../ui/forms/container-fields.tsx';
import { FieldInput } from '../../ui/forms/field-input.tsx';
import { useDraft } from '../../ui/forms/use-draft.tsx';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { GpuFields, StartFields, StorageFields } from '../pods/pod-fields.tsx';
import { CLUSTER_FIELDS, type ClusterValues, clusterBody, NEW_CLUSTER } from './cluster-values.ts';

export function NewClusterPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<ClusterValues>({ mode: 'controlled', initialValues: NEW_CLUSTER });
  const draft = useDraft(form, 'new-cluster', NEW_CLUSTER);
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
      <form noValidate onSubmit={submit}>
        <Stack maw={820}>
          {draft.note}
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
          <StartFields form={form} />
          <StorageFields form={form} />
          <FormAlert errors={otherErrors} />
          <Group>
            <Button type="submit" loading={isSaving}>
              Create cluster
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}

import { Button, Fieldset, Group, NumberInput, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { ContainerFields } from '../../ui/forms/container-fields.tsx';
import { FormAlert } from '../../ui/forms/form-alert.tsx';
import { numberProps } from '../../ui/forms/number-props.ts';
import { useDraft } from '../../ui/forms/use-draft.tsx';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { enumLabel } from '../../ui/text/enum-label.ts';
import { GpuFields, StartFields, StorageFields } from '../pods/pod-fields.tsx';
import { CLUSTER_FIELDS, CLUSTER_TYPES, type ClusterValues, clusterBody, NEW_CLUSTER } from './cluster-values.ts';

const TYPES = CLUSTER_TYPES.map((value) => ({ value, label: enumLabel(value) }));

export function NewClusterPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<ClusterValues>({ mode: 'controlled', initialValues: NEW_CLUSTER });
  const draft = useDraft(form, 'new-cluster', NEW_CLUSTER);
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: CLUSTER_FIELDS,
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
              <TextInput label="Name" required {...form.getInputProps('name')} />
              <Select label="Type" allowDeselect={false} data={TYPES} {...form.getInputProps('type')} />
              <NumberInput
                label="Pods"
                description="All start at once, or wait until there is room for all"
                min={2}
                max={250}
                allowDecimal={false}
                {...numberProps(form, 'podCount')}
              />
            </SimpleGrid>
          </Fieldset>
          <Fieldset legend="Hardware of each pod">
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <GpuFields form={form} />
            </SimpleGrid>
          </Fieldset>
          <Fieldset legend="Container of each pod">
            <Stack>
              <ContainerFields
                form={form}
                hasRegistry={false}
                portsHint="For others. The pods of the cluster reach all ports of each other."
              />
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

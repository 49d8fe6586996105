import { Fieldset, SimpleGrid, Stack } from '@mantine/core';
import { api, unwrap } from '../../api/client.ts';
import { CONTAINER_DETAILS, ContainerDetails, ContainerFields } from '../../ui/forms/container-fields.tsx';
import { FieldInput } from '../../ui/forms/field-input.tsx';
import { AdvancedFields, type Preset } from '../../ui/forms/form-parts.tsx';
import { NewRecordPage } from '../../ui/forms/new-record-page.tsx';
import { GpuFields, StartFields, StorageFields } from '../pods/pod-fields.tsx';
import { clusterSummary } from '../pods/pod-summary.ts';
import { CLUSTER_FIELDS, type ClusterValues, clusterBody, NEW_CLUSTER } from './cluster-values.ts';

const PRESETS: Preset<ClusterValues>[] = [
  {
    label: 'Training',
    help: 'Two pods, and checkpoints that stay',
    from: ({ mount }) => ({ type: 'TRAINING', podCount: 2, mount: { ...mount, kind: 'persistent' } }),
  },
  {
    label: 'Ray',
    help: 'Four pods; your image starts head and workers by rank',
    from: ({ mount }) => ({ type: 'RAY', podCount: 4, mount: { ...mount, kind: 'none' } }),
  },
  {
    label: 'Service',
    help: 'Two pods, and a URL of each at port 8000',
    from: ({ mount }) => ({
      type: 'APPLICATION',
      podCount: 2,
      ports: ['8000/http'],
      mount: { ...mount, kind: 'none' },
    }),
  },
];

export function NewClusterPage() {
  return (
    <NewRecordPage
      what="cluster"
      initial={NEW_CLUSTER}
      fields={[...Object.keys(CLUSTER_FIELDS), 'mounts']}
      presets={PRESETS}
      summary={clusterSummary}
      save={(values) => unwrap(api.POST('/v2/clusters', { body: clusterBody(values) }))}
    >
      {(form) => (
        <>
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
        </>
      )}
    </NewRecordPage>
  );
}

import { Group, NumberInput, Select, Text, TextInput } from '@mantine/core';
import { IconDatabase } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { EmptyState, Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/record-list.tsx';
import { DeleteButton, FormButton } from '../ui/record-page.tsx';

type Volume = Schemas['NetworkVolume'];

const idOf = ({ id }: Volume) => id;
const textOf = ({ id, name, dataCenter }: Volume) => `${id} ${name} ${dataCenter}`;

function NewVolume() {
  const centers = useQuery({
    queryKey: ['data-centers'],
    queryFn: () => unwrap(api.GET('/v2/catalog/datacenters')),
  });
  const data = (centers.data?.dataCenters ?? [])
    .filter(({ networkVolumeTypes }) => networkVolumeTypes.length > 0)
    .map(({ id, name }) => ({ value: id, label: name }));
  return (
    <FormButton
      label="New volume"
      title="New network volume"
      queryKey="volumes"
      initial={{ name: '', size: 20, dataCenter: '' }}
      onSubmit={(body) => unwrap(api.POST('/v2/network-volumes', { body }))}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <NumberInput label="Size" suffix=" GB" min={10} max={4096} {...form.getInputProps('size')} />
          <Select
            label="Data center"
            description="Workers and pods that mount it run there"
            data={data}
            searchable
            required
            {...form.getInputProps('dataCenter')}
          />
        </>
      )}
    </FormButton>
  );
}

export function VolumesPage() {
  const query = useQuery({ queryKey: ['volumes'], queryFn: () => unwrap(api.GET('/v2/network-volumes')) });
  const columns = useMemo<Column<Volume>[]>(
    () => [
      { title: 'Name', render: ({ name }) => <Text fw={550}>{name}</Text> },
      { title: 'Size', render: ({ size }) => <Text className="figure">{size} GB</Text> },
      { title: 'Data center', render: ({ dataCenter }) => dataCenter },
      { title: 'Tier', isSecondary: true, render: ({ type }) => type.toLowerCase().replace('_', ' ') },
      {
        title: 'Actions',
        width: '130px',
        render: (volume) => (
          <Group gap={4} wrap="nowrap">
            <FormButton
              label="Edit"
              title={`Edit ${volume.name}`}
              queryKey="volumes"
              variant="default"
              size="compact-sm"
              submitLabel="Save"
              initial={{ name: volume.name, size: volume.size }}
              onSubmit={(body) =>
                unwrap(api.PATCH('/v2/network-volumes/{id}', { params: { path: { id: volume.id } }, body }))
              }
            >
              {(form) => (
                <>
                  <TextInput label="Name" required {...form.getInputProps('name')} />
                  <NumberInput
                    label="Size"
                    description="It can only grow"
                    suffix=" GB"
                    min={volume.size}
                    max={4096}
                    {...form.getInputProps('size')}
                  />
                </>
              )}
            </FormButton>
            <DeleteButton
              what="network volume"
              name={volume.name}
              queryKey="volumes"
              consequence="Everything on it is lost. A mounted volume cannot be deleted."
              onConfirm={() => unwrap(api.DELETE('/v2/network-volumes/{id}', { params: { path: { id: volume.id } } }))}
            />
          </Group>
        ),
      },
    ],
    [],
  );
  return (
    <Page title="Network volumes" actions={<NewVolume />}>
      <Loaded query={query}>
        {({ networkVolumes }) =>
          networkVolumes.length === 0 ? (
            <EmptyState icon={IconDatabase} title="No volumes yet" action={<NewVolume />}>
              A network volume outlives workers and pods: models and data on it are there at the next start, and shared
              by all that mount it.
            </EmptyState>
          ) : (
            <RecordList label="network volumes" items={networkVolumes} columns={columns} idOf={idOf} textOf={textOf} />
          )
        }
      </Loaded>
    </Page>
  );
}

import { Button, Group, NumberInput, Select, TextInput } from '@mantine/core';
import { IconDatabase } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { dataCentersQuery } from '../api/catalog-queries.ts';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { volumesQuery } from '../api/queries.ts';
import { DeleteButton } from '../ui/confirm-delete.tsx';
import { changesOf } from '../ui/forms/changes.ts';
import { type Fields, recordOptions } from '../ui/forms/fields.ts';
import { FormButton } from '../ui/forms/form-button.tsx';
import { type Column, RecordPage } from '../ui/tables/record-page.tsx';
import { formatNumber } from '../ui/text/format.ts';
import { enumLabel } from '../ui/text/labels.ts';
import { RecordName } from '../ui/text/record-name.tsx';

type Volume = Schemas['NetworkVolume'];

const MIN_GB = 10;
const MAX_GB = 4096;
const VOLUME_FIELDS: Fields<{ name: string; size: number }> = {
  name: { label: 'Name', initial: '' },
  size: { label: 'Size', initial: 20, unit: 'GB' },
};
const COLUMNS: Column<Volume>[] = [
  { title: 'Name', render: ({ name }) => <RecordName>{name}</RecordName> },
  { title: 'Size', isNumber: true, render: ({ size }) => `${formatNumber(size)} GB` },
  { title: 'Data center', render: ({ dataCenter }) => dataCenter },
  { title: 'Tier', isWide: true, render: ({ type }) => enumLabel(type) },
  { title: 'Actions', width: '190px', render: (volume) => <Actions volume={volume} /> },
];
const idOf = ({ id }: Volume) => id;
const textOf = ({ id, name, dataCenter }: Volume) => `${id} ${name} ${dataCenter}`;

export function VolumesPage() {
  const query = useQuery(volumesQuery);
  return (
    <RecordPage
      title="Volumes"
      action={<NewVolume />}
      query={{ ...query, data: query.data?.networkVolumes }}
      empty={{
        icon: IconDatabase,
        title: 'No network volumes yet',
        text: 'A network volume keeps models and data across restarts, and shares them between workers and pods.',
      }}
      label="network volumes"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
    />
  );
}

function Actions({ volume }: { volume: Volume }) {
  const { id, name } = volume;
  return (
    <Group gap={4} wrap="nowrap">
      <Button component={Link} to={`/volumes/${id}/files`} variant="subtle" size="compact-sm">
        Files
      </Button>
      <EditVolume volume={volume} />
      <DeleteButton
        what="network volume"
        name={name}
        queryKey="volumes"
        consequence="Deletes all data on the volume. You can't undo this, and you can't delete a mounted volume."
        onConfirm={() => unwrap(api.DELETE('/v2/network-volumes/{id}', { params: { path: { id } } }))}
      />
    </Group>
  );
}

function NewVolume() {
  const centers = useQuery(dataCentersQuery);
  const withVolumes = centers.data?.dataCenters.filter(({ networkVolumeTypes }) => networkVolumeTypes.length > 0);
  return (
    <FormButton
      label="New volume"
      title="New network volume"
      queryKey="volumes"
      summary={({ size, dataCenter }) => ({
        facts: [
          { label: 'Keeps', value: `${size} GB across restarts` },
          {
            label: 'Mounted',
            value: dataCenter ? `by workers and pods in ${dataCenter}` : 'by workers and pods there',
          },
          { label: 'Grows', value: 'at any time; it cannot shrink' },
        ],
      })}
      initial={{ name: '', size: 20, dataCenter: '' }}
      onSubmit={(body) => unwrap(api.POST('/v2/network-volumes', { body }))}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <NumberInput label="Size" suffix=" GB" min={MIN_GB} max={MAX_GB} {...form.getInputProps('size')} />
          <Select
            label="Data center"
            description="Workers and pods that mount the volume run here"
            data={recordOptions(withVolumes)}
            searchable
            required
            {...form.getInputProps('dataCenter')}
          />
        </>
      )}
    </FormButton>
  );
}

function EditVolume({ volume: { id, name, size } }: { volume: Volume }) {
  return (
    <FormButton
      label="Edit"
      title={`Edit ${name}`}
      queryKey="volumes"
      isInRow
      submitLabel="Save"
      recordId={id}
      summary={(values) => ({
        facts: [{ label: 'Data', value: 'stays as it is' }],
        changes: changesOf(VOLUME_FIELDS, { name, size }, values),
        effect: 'Takes effect at once. What mounts it keeps running.',
      })}
      initial={{ name, size }}
      onSubmit={(body) => unwrap(api.PATCH('/v2/network-volumes/{id}', { params: { path: { id } }, body }))}
    >
      {(form) => (
        <>
          <TextInput label="Name" required {...form.getInputProps('name')} />
          <NumberInput
            label="Size"
            description="A volume can grow but not shrink"
            suffix=" GB"
            min={size}
            max={MAX_GB}
            {...form.getInputProps('size')}
          />
        </>
      )}
    </FormButton>
  );
}

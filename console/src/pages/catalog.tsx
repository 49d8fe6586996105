import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { cpusQuery, dataCentersQuery, gpusQuery } from '../api/catalog-queries.ts';
import type { Schemas } from '../api/client.ts';
import { Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/tables/record-list.tsx';
import { formatUsd, NO_VALUE } from '../ui/text/format.ts';
import type { StatusLook } from '../ui/text/labels.ts';
import { enumLabel } from '../ui/text/labels.ts';
import { RecordName } from '../ui/text/record-name.tsx';
import { Status } from '../ui/text/status.tsx';

type Gpu = Schemas['GpuType'];
type Cpu = Schemas['CpuFlavor'];
type DataCenter = Schemas['DataCenter'];

const AVAILABILITIES = {
  NONE: { label: 'None', color: 'gray' },
  LOW: { label: 'Low', color: 'orange' },
  MEDIUM: { label: 'Medium', color: 'yellow' },
  HIGH: { label: 'High', color: 'green' },
} as const satisfies Record<NonNullable<Gpu['availability']>, StatusLook>;

const GPU_COLUMNS: Column<Gpu>[] = [
  { title: 'GPU', render: ({ name }) => <RecordName>{name}</RecordName> },
  { title: 'Pool', render: ({ pool }) => pool ?? NO_VALUE },
  { title: 'Memory', isSecondary: true, render: ({ memory }) => `${memory} GB` },
  {
    title: 'Price per hour',
    render: ({ price }) => <span className="figure">{price.secure === null ? NO_VALUE : formatUsd(price.secure)}</span>,
  },
  {
    title: 'Availability',
    render: ({ availability }) => <Status table={AVAILABILITIES} value={availability ?? 'NONE'} />,
  },
];
const CPU_COLUMNS: Column<Cpu>[] = [
  { title: 'CPU', render: ({ name }) => <RecordName>{name}</RecordName> },
  { title: 'vCPUs', render: ({ vcpu }) => `${vcpu.min}–${vcpu.max}` },
  { title: 'Memory', isSecondary: true, render: ({ ramGbPerVcpu }) => `${ramGbPerVcpu} GB per vCPU` },
  {
    title: 'Price per vCPU-hour',
    render: ({ price }) => <span className="figure">{formatUsd(price.securePerVcpu)}</span>,
  },
];
const CENTER_COLUMNS: Column<DataCenter>[] = [
  { title: 'Data center', render: ({ name }) => <RecordName>{name}</RecordName> },
  { title: 'Region', render: ({ region }) => region.split('_').map(enumLabel).join(' ') },
  {
    title: 'Network volumes',
    isSecondary: true,
    render: ({ networkVolumeTypes }) => networkVolumeTypes.map(enumLabel).join(', ') || NO_VALUE,
  },
];
const idOf = ({ id }: { id: string }) => id;
const textOf = (item: { id: string; name: string; pool?: string | null }) =>
  `${item.id} ${item.name} ${item.pool ?? ''}`;

export function CatalogPage() {
  return (
    <Page title="Catalog">
      <Tabs defaultValue="gpus" keepMounted={false}>
        <Tabs.List mb="md" aria-label="Catalog">
          <Tabs.Tab value="gpus">GPUs</Tabs.Tab>
          <Tabs.Tab value="cpus">CPUs</Tabs.Tab>
          <Tabs.Tab value="centers">Data centers</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="gpus">
          <Gpus />
        </Tabs.Panel>
        <Tabs.Panel value="cpus">
          <Cpus />
        </Tabs.Panel>
        <Tabs.Panel value="centers">
          <DataCenters />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Gpus() {
  const query = useQuery({ ...gpusQuery, refetchInterval: 15_000 });
  return (
    <Loaded query={query}>
      {({ gpus }) => <RecordList label="GPUs" items={gpus} columns={GPU_COLUMNS} idOf={idOf} textOf={textOf} />}
    </Loaded>
  );
}

function Cpus() {
  const query = useQuery(cpusQuery);
  return (
    <Loaded query={query}>
      {({ cpus }) => <RecordList label="CPUs" items={cpus} columns={CPU_COLUMNS} idOf={idOf} textOf={textOf} />}
    </Loaded>
  );
}

function DataCenters() {
  const query = useQuery(dataCentersQuery);
  return (
    <Loaded query={query}>
      {({ dataCenters }) => (
        <RecordList label="data centers" items={dataCenters} columns={CENTER_COLUMNS} idOf={idOf} textOf={textOf} />
      )}
    </Loaded>
  );
}

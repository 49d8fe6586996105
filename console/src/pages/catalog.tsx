import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { cpusQuery, dataCentersQuery, gpuCapacityQuery, gpusQuery } from '../api/catalog-queries.ts';
import type { Schemas } from '../api/client.ts';
import { EmptyNote, Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/tables/record-list.tsx';
import { formatCount, formatUsd, NO_VALUE } from '../ui/text/format.ts';
import type { StatusLook } from '../ui/text/labels.ts';
import { enumLabel } from '../ui/text/labels.ts';
import { RecordName } from '../ui/text/record-name.tsx';
import { Status } from '../ui/text/status.tsx';

type Gpu = Schemas['GpuType'];
type Cpu = Schemas['CpuFlavor'];
type DataCenter = Schemas['DataCenter'];
type Capacity = Schemas['GpuCapacity']['gpus'];

const AVAILABILITIES = {
  NONE: { label: 'None', color: 'gray' },
  LOW: { label: 'Low', color: 'orange' },
  MEDIUM: { label: 'Medium', color: 'yellow' },
  HIGH: { label: 'High', color: 'green' },
} as const satisfies Record<NonNullable<Gpu['availability']>, StatusLook>;
const AVAILABILITY_ORDER = Object.keys(AVAILABILITIES);

const GPU_COLUMNS: Column<Gpu>[] = [
  {
    title: 'GPU',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: ({ name }) => <RecordName>{name}</RecordName>,
  },
  { title: 'Pool', sortKey: 'pool', sortValue: ({ pool }) => pool, render: ({ pool }) => pool ?? NO_VALUE },
  {
    title: 'Memory',
    isNumber: true,
    sortKey: 'memory',
    sortValue: ({ memory }) => memory,
    render: ({ memory }) => `${memory} GB`,
  },
  {
    title: 'Pod, per hour',
    isNumber: true,
    sortKey: 'price',
    sortValue: ({ price }) => price.secure,
    render: ({ price }) => formatUsd(price.secure),
  },
  {
    title: 'Worker, per hour',
    isNumber: true,
    sortKey: 'worker',
    sortValue: ({ price }) => price.serverless ?? null,
    render: ({ price }) => (price.serverless === undefined ? NO_VALUE : formatUsd(price.serverless)),
  },
];

/** Figures are only known for GPUs that are here. */
function columnsHere(capacity: Capacity | undefined): Column<Gpu>[] {
  const free = new Map(capacity?.map((type) => [type.id, type]));
  const [name, ...rest] = GPU_COLUMNS;
  return [
    name!,
    {
      title: 'Availability',
      sortKey: 'availability',
      sortValue: ({ availability = 'NONE' }) => AVAILABILITY_ORDER.indexOf(availability),
      render: ({ availability }) => <Status table={AVAILABILITIES} value={availability ?? 'NONE'} />,
    },
    {
      title: 'Free',
      isNumber: true,
      sortKey: 'free',
      sortValue: ({ id }) => free.get(id)?.free ?? null,
      render: ({ id }) => {
        const type = free.get(id);
        return type === undefined ? NO_VALUE : `${type.free} of ${type.total}`;
      },
    },
    ...rest,
  ];
}

const CPU_COLUMNS: Column<Cpu>[] = [
  {
    title: 'CPU',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: ({ name }) => <RecordName>{name}</RecordName>,
  },
  {
    title: 'vCPUs',
    isNumber: true,
    sortKey: 'vcpus',
    sortValue: ({ vcpu }) => vcpu.max,
    render: ({ vcpu }) => `${vcpu.min} to ${vcpu.max}`,
  },
  { title: 'Memory per vCPU', isNumber: true, render: ({ ramGbPerVcpu }) => `${ramGbPerVcpu} GB` },
  {
    title: 'Pod, per vCPU-hour',
    isNumber: true,
    sortKey: 'price',
    sortValue: ({ price }) => price.securePerVcpu,
    render: ({ price }) => formatUsd(price.securePerVcpu),
  },
  {
    title: 'Worker, per vCPU-hour',
    isNumber: true,
    sortKey: 'worker',
    sortValue: ({ price }) => price.serverlessPerVcpu,
    render: ({ price }) => formatUsd(price.serverlessPerVcpu),
  },
];
const CENTER_COLUMNS: Column<DataCenter>[] = [
  {
    title: 'Data center',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: ({ name }) => <RecordName>{name}</RecordName>,
  },
  { title: 'ID', render: ({ id }) => id },
  { title: 'Region', render: ({ region }) => region.split('_').map(enumLabel).join(' ') },
  {
    title: 'Network volumes',
    render: ({ networkVolumeTypes }) => networkVolumeTypes.map(enumLabel).join(', ') || NO_VALUE,
  },
];
const idOf = ({ id }: { id: string }) => id;
const textOf = (item: { id: string; name: string; pool?: string | null }) =>
  `${item.id} ${item.name} ${item.pool ?? ''}`;

export function CatalogPage() {
  const [params, setParams] = useSearchParams();
  const tab = params.get('tab') ?? 'gpus';
  return (
    <Page title="Catalog">
      <Tabs
        value={tab}
        onChange={(next) => setParams(next === null || next === 'gpus' ? {} : { tab: next }, { replace: true })}
        keepMounted={false}
      >
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

const REFRESH_MS = 15_000;

/** The GPUs that are here, and folded below them those that could be added. */
function Gpus() {
  const query = useQuery({ ...gpusQuery, refetchInterval: REFRESH_MS });
  const capacity = useQuery({ ...gpuCapacityQuery, refetchInterval: REFRESH_MS });
  const types = capacity.data?.gpus;
  const isHere = ({ id, availability }: Gpu) =>
    types === undefined ? availability !== 'NONE' : types.some((type) => type.id === id && type.total > 0);
  return (
    <Loaded query={capacity.isPending ? { ...query, data: undefined } : query}>
      {({ gpus }) => {
        const here = gpus.filter(isHere);
        return (
          <>
            {here.length === 0 ? (
              <EmptyNote>This installation has no GPUs. Endpoints and pods run on its CPUs.</EmptyNote>
            ) : (
              <RecordList
                label="GPUs"
                items={here}
                columns={columnsHere(types)}
                idOf={idOf}
                textOf={textOf}
                defaultSort="name"
              />
            )}
            <AbsentGpus gpus={gpus.filter((gpu) => !isHere(gpu))} />
          </>
        );
      }}
    </Loaded>
  );
}

function AbsentGpus({ gpus }: { gpus: readonly Gpu[] }) {
  const [params] = useSearchParams();
  if (gpus.length === 0) return null;
  return (
    <details className="absent-gpus" open={params.has('absent') || undefined}>
      <summary>{formatCount(gpus.length, 'more GPU type')} that this installation doesn’t have</summary>
      <RecordList
        label="absent GPUs"
        items={gpus}
        columns={GPU_COLUMNS}
        idOf={idOf}
        textOf={textOf}
        defaultSort="name"
        searchName="absent"
      />
    </details>
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

import { Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { formatUsd } from '../ui/format.ts';
import { Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/record-list.tsx';
import { Status } from '../ui/status.tsx';

type Gpu = Schemas['GpuType'];
type Cpu = Schemas['CpuFlavor'];
type DataCenter = Schemas['DataCenter'];

const GPU_COLUMNS: Column<Gpu>[] = [
  { title: 'GPU', render: ({ name }) => <Text fw={550}>{name}</Text> },
  { title: 'Pool', render: ({ pool }) => pool ?? '–' },
  { title: 'Memory', isSecondary: true, render: ({ memory }) => `${memory} GB` },
  {
    title: 'Per hour',
    render: ({ price }) => <span className="figure">{price.secure === null ? '–' : formatUsd(price.secure)}</span>,
  },
  { title: 'Free here', render: ({ availability }) => <Status value={availability ?? 'NONE'} /> },
];
const CPU_COLUMNS: Column<Cpu>[] = [
  { title: 'CPU', render: ({ name }) => <Text fw={550}>{name}</Text> },
  { title: 'vCPUs', render: ({ vcpu }) => `${vcpu.min}–${vcpu.max}` },
  { title: 'Memory', isSecondary: true, render: ({ ramGbPerVcpu }) => `${ramGbPerVcpu} GB per vCPU` },
  {
    title: 'Per vCPU and hour',
    render: ({ price }) => <span className="figure">{formatUsd(price.securePerVcpu)}</span>,
  },
];
const CENTER_COLUMNS: Column<DataCenter>[] = [
  { title: 'Data center', render: ({ name }) => <Text fw={550}>{name}</Text> },
  { title: 'Region', render: ({ region }) => region.toLowerCase().replaceAll('_', ' ') },
  {
    title: 'Volumes',
    isSecondary: true,
    render: ({ networkVolumeTypes }) => networkVolumeTypes.join(', ').toLowerCase().replaceAll('_', ' ') || '–',
  },
];
const idOf = ({ id }: { id: string }) => id;
const textOf = (item: { id: string; name: string; pool?: string | null }) =>
  `${item.id} ${item.name} ${item.pool ?? ''}`;

export function CatalogPage() {
  const gpus = useQuery({
    queryKey: ['gpus', 'availability'],
    queryFn: () => unwrap(api.GET('/v2/catalog/gpus', { params: { query: { include: 'AVAILABILITY' } } })),
    refetchInterval: 15_000,
  });
  const cpus = useQuery({ queryKey: ['cpus'], queryFn: () => unwrap(api.GET('/v2/catalog/cpus')) });
  const centers = useQuery({
    queryKey: ['data-centers'],
    queryFn: () => unwrap(api.GET('/v2/catalog/datacenters')),
  });
  return (
    <Page title="Catalog">
      <Tabs defaultValue="gpus" keepMounted={false}>
        <Tabs.List mb="md" aria-label="Catalog">
          <Tabs.Tab value="gpus">GPUs</Tabs.Tab>
          <Tabs.Tab value="cpus">CPUs</Tabs.Tab>
          <Tabs.Tab value="centers">Data centers</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="gpus">
          <Loaded query={gpus}>
            {({ gpus: items }) => (
              <RecordList label="GPUs" items={items} columns={GPU_COLUMNS} idOf={idOf} textOf={textOf} />
            )}
          </Loaded>
        </Tabs.Panel>
        <Tabs.Panel value="cpus">
          <Loaded query={cpus}>
            {({ cpus: items }) => (
              <RecordList label="CPUs" items={items} columns={CPU_COLUMNS} idOf={idOf} textOf={textOf} />
            )}
          </Loaded>
        </Tabs.Panel>
        <Tabs.Panel value="centers">
          <Loaded query={centers}>
            {({ dataCenters }) => (
              <RecordList
                label="data centers"
                items={dataCenters}
                columns={CENTER_COLUMNS}
                idOf={idOf}
                textOf={textOf}
              />
            )}
          </Loaded>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

import { Group, SegmentedControl, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { ChartPanel } from '../ui/chart-panel.tsx';
import { Figures } from '../ui/figures.tsx';
import { formatUsd } from '../ui/format.ts';
import { Loaded, Page } from '../ui/page.tsx';
import { SmallTable } from '../ui/small-table.tsx';

const AmountChart = lazy(async () => ({ default: (await import('../ui/charts.tsx')).AmountChart }));

type Bucket = 'hour' | 'day' | 'week' | 'month';

const SERIES = [
  { name: 'serverless', label: 'Endpoints', color: '#0b7285' },
  { name: 'pods', label: 'Pods', color: '#5f3dc4' },
  { name: 'storage', label: 'Storage', color: '#f08c00' },
];
const LAST: Record<Bucket, number> = { hour: 48, day: 30, week: 12, month: 12 };

export function BillingPage() {
  const [bucketSize, setBucketSize] = useState<Bucket>('day');
  const query = useQuery({
    queryKey: ['billing', bucketSize],
    queryFn: () => unwrap(api.GET('/v2/billing', { params: { query: { bucketSize, lastN: LAST[bucketSize] } } })),
  });
  return (
    <Page
      title="Billing"
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Period"
          value={bucketSize}
          onChange={(value) => setBucketSize(value as Bucket)}
          data={['hour', 'day', 'week', 'month']}
        />
      }
    >
      <Loaded query={query}>
        {({ records, metadata }) => {
          const rows = records.map((record) => ({
            period: new Date(record.startTime).toLocaleDateString(undefined, {
              month: 'short',
              day: 'numeric',
              ...(bucketSize === 'hour' ? { hour: '2-digit' } : {}),
            }),
            serverless:
              record.serverlessGpuAmount +
              record.serverlessCpuAmount +
              record.serverlessDiskAmount +
              record.serverlessFeeAmount,
            pods: record.podGpuAmount + record.podCpuAmount + record.podDiskAmount,
            storage: record.storageStandardAmount + record.storageHighPerformanceAmount,
            total: record.totalAmount,
          }));
          const sum = (name: 'serverless' | 'pods' | 'storage') => rows.reduce((all, row) => all + row[name], 0);
          return (
            <>
              <Figures
                figures={[
                  { label: 'In all', value: formatUsd(metadata.totals.totalAmount) },
                  { label: 'Endpoints', value: formatUsd(sum('serverless')) },
                  { label: 'Pods', value: formatUsd(sum('pods')) },
                  { label: 'Storage', value: formatUsd(sum('storage')) },
                ]}
              />
              <ChartPanel title={`By ${bucketSize}`}>
                {rows.length === 0 ? (
                  <Text size="sm" c="dimmed">
                    Nothing was used yet, so nothing was charged.
                  </Text>
                ) : (
                  <AmountChart label={`Amounts by ${bucketSize}, in US dollars`} rows={rows} series={SERIES} />
                )}
              </ChartPanel>
              {rows.length > 0 && (
                <SmallTable
                  label="Amounts"
                  titles={['Period', ...SERIES.map(({ label }) => label), 'In all']}
                  minWidth={420}
                  scrollLabel="Amounts by period"
                  className="figure"
                >
                  {rows.toReversed().map((row) => (
                    <Table.Tr key={row.period}>
                      <Table.Td>{row.period}</Table.Td>
                      <Table.Td>{formatUsd(row.serverless)}</Table.Td>
                      <Table.Td>{formatUsd(row.pods)}</Table.Td>
                      <Table.Td>{formatUsd(row.storage)}</Table.Td>
                      <Table.Td>{formatUsd(row.total)}</Table.Td>
                    </Table.Tr>
                  ))}
                </SmallTable>
              )}
              <Group>
                <Text size="xs" c="dimmed">
                  These are the catalog's prices: what the same use would cost in a rented cloud. Nobody is charged.
                </Text>
              </Group>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

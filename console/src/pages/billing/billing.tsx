import { SegmentedControl, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import type { Series } from '../../ui/chart-colors.ts';
import { ChartPanel } from '../../ui/chart-panel.tsx';
import { Figures } from '../../ui/figures.tsx';
import { formatUsd } from '../../ui/format.ts';
import { Loaded, Page } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/small-table.tsx';
import { type BillingRow, type BucketSize, billingRow, PERIODS, sumOf } from './billing-rows.ts';

const AmountChart = lazy(async () => ({ default: (await import('../../ui/charts.tsx')).AmountChart }));

const SERIES: Series[] = [
  { name: 'serverless', label: 'Endpoints', color: 'teal' },
  { name: 'pods', label: 'Pods', color: 'violet' },
  { name: 'storage', label: 'Storage', color: 'orange' },
];

export function BillingPage() {
  const [bucketSize, setBucketSize] = useState<BucketSize>('day');
  const query = useQuery({
    queryKey: ['billing', bucketSize],
    queryFn: () => unwrap(api.GET('/v2/billing', { params: { query: { bucketSize, lastN: PERIODS[bucketSize] } } })),
  });
  return (
    <Page title="Billing" actions={<PeriodSwitch value={bucketSize} onChange={setBucketSize} />}>
      <Loaded query={query}>
        {({ records, metadata }) => (
          <Charges
            rows={records.map((record) => billingRow(record, bucketSize))}
            total={metadata.totals.totalAmount}
            bucketSize={bucketSize}
          />
        )}
      </Loaded>
    </Page>
  );
}

function PeriodSwitch({ value, onChange }: { value: BucketSize; onChange: (value: BucketSize) => void }) {
  return (
    <SegmentedControl
      size="xs"
      aria-label="Group by"
      value={value}
      onChange={onChange}
      data={[
        { value: 'hour', label: 'Hour' },
        { value: 'day', label: 'Day' },
        { value: 'week', label: 'Week' },
        { value: 'month', label: 'Month' },
      ]}
    />
  );
}

function Charges(props: { rows: readonly BillingRow[]; total: number; bucketSize: BucketSize }) {
  const { rows, total, bucketSize } = props;
  return (
    <>
      <Figures
        figures={[
          { label: 'Total', value: formatUsd(total) },
          { label: 'Endpoints', value: formatUsd(sumOf(rows, 'serverless')) },
          { label: 'Pods', value: formatUsd(sumOf(rows, 'pods')) },
          { label: 'Storage', value: formatUsd(sumOf(rows, 'storage')) },
        ]}
      />
      <ChartPanel title={`Cost by ${bucketSize}`}>
        {rows.length === 0 ? (
          <Text size="sm" c="dimmed">
            No usage in this period.
          </Text>
        ) : (
          <AmountChart label={`Cost by ${bucketSize} in US dollars`} rows={rows} series={SERIES} />
        )}
      </ChartPanel>
      {rows.length > 0 && <ChargesTable rows={rows} />}
      <Text size="xs" c="dimmed">
        Estimated from catalog prices. You are not charged.
      </Text>
    </>
  );
}

/** The periods, newest first. */
function ChargesTable({ rows }: { rows: readonly BillingRow[] }) {
  return (
    <SmallTable
      label="Cost by period"
      titles={['Period', ...SERIES.map(({ label }) => label), 'Total']}
      minWidth={420}
      isFocusable
      className="figure"
    >
      {rows.toReversed().map((row) => (
        <Table.Tr key={row.startTime}>
          <Table.Td>{row.period}</Table.Td>
          <Table.Td>{formatUsd(row.serverless)}</Table.Td>
          <Table.Td>{formatUsd(row.pods)}</Table.Td>
          <Table.Td>{formatUsd(row.storage)}</Table.Td>
          <Table.Td>{formatUsd(row.total)}</Table.Td>
        </Table.Tr>
      ))}
    </SmallTable>
  );
}

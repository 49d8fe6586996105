import { Button, Group, SegmentedControl, Select, Stack, Switch } from '@mantine/core';
import { IconDownload, IconReceipt } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { lazy } from 'react';
import { api, request, type Schemas, unwrap } from '../../api/client.ts';
import { ChartPanel } from '../../ui/charts/chart-panel.tsx';
import { Figures } from '../../ui/figures.tsx';
import { Hint } from '../../ui/hint.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { formatUsd } from '../../ui/text/format.ts';
import { useUrlParams } from '../../ui/use-url-params.ts';
import { Budgets } from './budgets.tsx';
import {
  type Costs,
  type CostView,
  cents,
  chartRows,
  chartSeries,
  costQuery,
  forecastText,
  GROUPS,
  RANGES,
  readView,
} from './cost-rows.ts';
import { CostTable } from './cost-table.tsx';

const AmountChart = lazy(async () => ({ default: (await import('../../ui/charts/charts.tsx')).AmountChart }));

/** Usage is metered once a minute. */
const REFRESH_MS = 60_000;

export function BillingPage() {
  const [params, set] = useUrlParams();
  const account = useQuery({ queryKey: ['account'], queryFn: () => unwrap(api.GET('/v2/account')), retry: false });
  const isAdmin = account.data?.role === 'ADMIN';
  const wanted = readView(params);
  const view = { ...wanted, isAll: wanted.isAll && isAdmin };
  const { isAll } = view;
  const costs = useQuery({
    queryKey: ['billing', 'costs', view],
    queryFn: () => unwrap(api.GET('/v2/billing/costs', { params: { query: costQuery(view, new Date()) } })),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });
  const forecast = useQuery({
    queryKey: ['billing', 'forecast', isAll],
    queryFn: () => unwrap(api.GET('/v2/billing/forecast', { params: { query: isAll ? { userId: 'all' } : {} } })),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Page title="Billing" actions={<ExportButton view={view} />}>
      <Loaded query={forecast}>{(month) => <Month month={month} />}</Loaded>
      <Budgets isAll={isAll} />
      <Controls view={view} isAdmin={isAdmin} set={set} />
      <Loaded query={costs}>{(found) => <Charges costs={found} view={view} ownId={account.data?.id} />}</Loaded>
      <Hint size="xs">Estimated from catalog prices, by days and months in UTC. You are not charged.</Hint>
    </Page>
  );
}

function Month({ month }: { month: Schemas['CostForecast'] }) {
  const { value, range } = forecastText(month);
  return (
    <Stack gap={6}>
      <Figures
        figures={[
          { label: `Spent in ${monthName(month)}`, value: formatUsd(cents(month.spent)) },
          { label: 'Forecast', value, note: range ?? undefined },
        ]}
      />
      <Hint size="xs">{month.method}</Hint>
    </Stack>
  );
}

function monthName({ startTime }: Schemas['CostForecast']): string {
  return new Date(startTime).toLocaleDateString(undefined, { timeZone: 'UTC', month: 'long' });
}

function Controls(props: { view: CostView; isAdmin: boolean; set: (name: string, value: string) => void }) {
  const { view, isAdmin, set } = props;
  const groups = GROUPS.filter(({ value }) => value !== 'user' || view.isAll);
  return (
    <Group gap="sm" justify="space-between">
      <SegmentedControl
        size="xs"
        aria-label="Group by"
        value={view.by}
        onChange={(value) => set('by', value)}
        data={[...groups]}
      />
      <Group gap="sm">
        {isAdmin && (
          <Switch
            size="xs"
            label="All users"
            checked={view.isAll}
            onChange={(event) => set('users', event.currentTarget.checked ? 'all' : '')}
          />
        )}
        <Select
          size="xs"
          w={150}
          aria-label="Period"
          allowDeselect={false}
          value={view.range}
          onChange={(value) => set('range', value ?? '')}
          data={[...RANGES]}
        />
      </Group>
    </Group>
  );
}

function Charges({ costs, view, ownId }: { costs: Costs; view: CostView; ownId: string | undefined }) {
  if (costs.groups.length === 0) {
    return (
      <EmptyState icon={IconReceipt} title="Nothing cost anything in this period">
        Workers, pods and volumes cost from the minute they exist, at the catalog’s prices. What they cost appears here
        about a minute later.
      </EmptyState>
    );
  }
  return (
    <>
      <ChartPanel title={`Cost by day: ${formatUsd(cents(costs.total))}`}>
        <AmountChart label="Cost by day in US dollars" rows={chartRows(costs)} series={chartSeries(costs)} />
      </ChartPanel>
      <CostTable costs={costs} isAll={view.isAll} ownId={ownId} />
    </>
  );
}

/** Downloads what the page shows as CSV, a line for each day and resource. */
function ExportButton({ view }: { view: CostView }) {
  const download = useMutation({
    mutationFn: async () => {
      const entries = Object.entries(costQuery(view, new Date())).map(([name, value]) => [name, String(value)]);
      const response = await request(`/v2/billing/export?${new URLSearchParams(entries)}`);
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'costs.csv';
      saveFile(name, await response.blob());
      return name;
    },
    onSuccess: (name) => notifySuccess(`Downloaded ${name}.`),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} aria-hidden />}
      onClick={() => download.mutate()}
      loading={download.isPending}
    >
      Export CSV
    </Button>
  );
}

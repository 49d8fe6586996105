import {
  Anchor,
  Badge,
  Button,
  Group,
  Paper,
  Progress,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Table,
  Text,
} from '@mantine/core';
import { IconDownload, IconReceipt } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { lazy } from 'react';
import { Link, useSearchParams } from 'react-router';
import { api, request, type Schemas, unwrap } from '../../api/client.ts';
import { ChartPanel } from '../../ui/charts/chart-panel.tsx';
import { Figures } from '../../ui/figures.tsx';
import { Hint } from '../../ui/hint.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { formatCount, formatUsd } from '../../ui/text/format.ts';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { Budgets } from './budgets.tsx';
import {
  type CostGroup,
  type Costs,
  type CostView,
  cents,
  chartRows,
  chartSeries,
  costQuery,
  forecastText,
  GROUPS,
  groupLink,
  groupName,
  RANGES,
  readView,
  shareOf,
} from './cost-rows.ts';

const AmountChart = lazy(async () => ({ default: (await import('../../ui/charts/charts.tsx')).AmountChart }));

/** Usage is metered once a minute. */
const REFRESH_MS = 60_000;

export function BillingPage() {
  const [params, setParams] = useSearchParams();
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
  const set = (name: string, value: string | null) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === null) next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  return (
    <Page title="Billing" actions={<ExportButton view={view} />}>
      <Loaded query={forecast}>{(month) => <Month month={month} />}</Loaded>
      <Controls view={view} isAdmin={isAdmin} set={set} />
      <Loaded query={costs}>{(found) => <Charges costs={found} view={view} ownId={account.data?.id} />}</Loaded>
      <Budgets isAll={isAll} />
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
          { label: 'Forecast', value },
          { label: 'Range', value: range ?? '–' },
        ]}
      />
      <Hint size="xs">{month.method}</Hint>
    </Stack>
  );
}

function monthName({ startTime }: Schemas['CostForecast']): string {
  return new Date(startTime).toLocaleDateString(undefined, { timeZone: 'UTC', month: 'long' });
}

function Controls(props: { view: CostView; isAdmin: boolean; set: (name: string, value: string | null) => void }) {
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
            onChange={(event) => set('users', event.currentTarget.checked ? 'all' : null)}
          />
        )}
        <Select
          size="xs"
          w={150}
          aria-label="Period"
          allowDeselect={false}
          value={view.range}
          onChange={(value) => set('range', value)}
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

/** The cost of each group, the largest first, with its share. The parts are hidden on narrow screens. */
function CostTable({ costs, isAll, ownId }: { costs: Costs; isAll: boolean; ownId: string | undefined }) {
  const { by, groups, total, otherCount, otherAmount } = costs;
  const hasOwner = isAll && by !== 'user' && by !== 'product';
  return (
    <Paper withBorder>
      <Table aria-label="Cost by group" verticalSpacing="xs" className="figure">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            {hasOwner && <Table.Th>User</Table.Th>}
            {PARTS.map(({ title }) => (
              <Table.Th key={title} visibleFrom="sm">
                {title}
              </Table.Th>
            ))}
            <Table.Th>Cost</Table.Th>
            <Table.Th>Share</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groups.map((group) => (
            <Table.Tr key={group.id}>
              <Table.Td className="cost-name">
                <GroupName group={group} link={groupLink(by, group, ownId)} />
              </Table.Td>
              {hasOwner && (
                <Table.Td className="cost-name">
                  <Name>{group.userName ?? group.userId ?? ''}</Name>
                </Table.Td>
              )}
              {PARTS.map(({ title, amountOf }) => (
                <Table.Td key={title} visibleFrom="sm">
                  {formatUsd(Number(amountOf(group)))}
                </Table.Td>
              ))}
              <Table.Td fw={600}>{formatUsd(Number(group.amount))}</Table.Td>
              <Table.Td>
                <Share percent={shareOf(group.amount, total)} name={groupName(group)} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {otherCount > 0 && (
        <Text size="sm" c="dimmed" p="sm">
          {formatCount(otherCount, 'other')} cost {formatUsd(cents(otherAmount))}. The export has them all.
        </Text>
      )}
    </Paper>
  );
}

const PARTS: readonly { title: string; amountOf: (group: CostGroup) => string }[] = [
  { title: 'GPU', amountOf: ({ gpuAmount }) => gpuAmount },
  { title: 'CPU', amountOf: ({ cpuAmount }) => cpuAmount },
  { title: 'Storage', amountOf: ({ storageAmount }) => storageAmount },
];

function GroupName({ group, link }: { group: CostGroup; link: string | undefined }) {
  if (link !== undefined) {
    return (
      <Anchor component={Link} to={link} size="sm">
        <Name>{groupName(group)}</Name>
      </Anchor>
    );
  }
  return (
    <Group gap="xs">
      <Text size="sm">
        <Name>{groupName(group)}</Name>
      </Text>
      {group.isDeleted && (
        <Badge size="xs" variant="default" tt="none">
          deleted
        </Badge>
      )}
    </Group>
  );
}

function Share({ percent, name }: { percent: number; name: string }) {
  const text = `${percent.toFixed(1)} %`;
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress value={percent} w={70} visibleFrom="xs" size="sm" aria-label={visibleText(`${name}: ${text}`)} />
      <Text size="xs">{text}</Text>
    </Group>
  );
}

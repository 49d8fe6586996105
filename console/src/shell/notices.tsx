import { Button, Group, Text } from '@mantine/core';
import { IconPlugConnectedX, IconReceipt, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState, useSyncExternalStore } from 'react';
import { Link } from 'react-router';
import { api, unwrap } from '../api/client.ts';
import { dismissOffer, useOfferedReload } from '../api/page-version.ts';
import { BASE_URL, connection, useReach } from '../api/server-connection.ts';
import { type Budget, budgetName, budgetUse, mostUrgent, renewalDay } from '../pages/billing/budget-values.ts';
import { formatDuration, formatPercent, formatUsd } from '../ui/text/format.ts';
import { clock } from '../ui/text/ticking-clock.ts';
import { visibleText } from '../ui/text/visible-text.ts';

/** From here on, the banner says what to do. */
const ADVICE_AFTER_MS = 15_000;

/** The banners above every page: the server is away, has a newer console, or a budget is used up. */
export function Notices() {
  const reach = useReach();
  const isOffered = useOfferedReload();
  return (
    // Always there: screen readers announce only what appears inside a known region.
    <div role="status">
      {reach.isLost && <LostNotice sinceMs={reach.sinceMs} detail={reach.detail} />}
      {isOffered && !reach.isLost && <VersionNotice />}
      {!reach.isLost && <BudgetNotice />}
    </div>
  );
}

function LostNotice({ sinceMs, detail }: { sinceMs: number; detail: string | null }) {
  return (
    <Notice
      color="orange"
      icon={<IconPlugConnectedX size={18} aria-hidden className="notice-icon" />}
      title={detail === null ? 'The server cannot be reached.' : `The server can't work now: ${detail}`}
      action={
        <Button size="compact-sm" variant="default" onClick={() => connection.tryNow()}>
          Try now
        </Button>
      }
    >
      Reconnecting… <Elapsed sinceMs={sinceMs} />
    </Notice>
  );
}

/** The time since the server was lost, outside the announcements: a screen reader would read every second. */
function Elapsed({ sinceMs }: { sinceMs: number }) {
  const seconds = useSyncExternalStore(clock.subscribe, () => Math.floor((clock.now() - sinceMs) / 1_000));
  const ms = Math.max(0, seconds * 1_000);
  return (
    <span aria-hidden className="figure">
      {ms < 60_000 ? `${seconds} s` : formatDuration(ms)}. This page shows what was known then.
      {ms >= ADVICE_AFTER_MS && ` Check that the server runs and that this machine reaches ${new URL(BASE_URL).host}.`}
    </span>
  );
}

function VersionNotice() {
  return (
    <Notice
      color="blue"
      icon={<IconRefresh size={18} aria-hidden className="notice-icon" />}
      title="The server has a newer console."
      action={
        <>
          <Button size="compact-sm" variant="default" onClick={() => location.reload()}>
            Reload
          </Button>
          <Button size="compact-sm" variant="subtle" color="gray" onClick={dismissOffer}>
            Later
          </Button>
        </>
      }
    >
      Save what you have typed, then reload the page.
    </Notice>
  );
}

/** A banner above every page. */
function Notice(props: { color: string; icon: ReactNode; title: string; action: ReactNode; children: ReactNode }) {
  return (
    <Group className="notice" data-color={props.color} gap="sm" justify="space-between">
      <Group gap="sm" wrap="nowrap" flex={1} miw="min(15rem, 100%)">
        {props.icon}
        <Text size="sm" className="anywhere">
          <b>{visibleText(props.title)}</b> {props.children}
        </Text>
      </Group>
      <Group gap="xs">{props.action}</Group>
    </Group>
  );
}

const REFRESH_MS = 60_000;
const HIDDEN = 'podyard.hiddenBudgets';

/** The budget that is used up, or the highest threshold that was passed. Nothing for keys that may not read billing. */
function BudgetNotice() {
  const { data } = useQuery({
    queryKey: ['budgets', false],
    queryFn: () => unwrap(api.GET('/v2/billing/budgets')),
    refetchInterval: ({ state }) => (state.error ? false : REFRESH_MS),
    retry: false,
  });
  const [hidden, setHidden] = useState(() => sessionStorage.getItem(HIDDEN));
  const budget = data && mostUrgent(data.budgets);
  if (budget === undefined) return null;
  const mark = [budget.id, budget.month, budget.amount, ...budget.passed].join(' ');
  if (hidden === mark && !budget.isStopped) return null;
  const hide = () => {
    sessionStorage.setItem(HIDDEN, mark);
    setHidden(mark);
  };
  return (
    <Notice
      color={budget.isStopped ? 'red' : 'orange'}
      icon={<IconReceipt size={18} aria-hidden className="notice-icon" />}
      title={titleOf(budget)}
      action={
        <>
          <Button size="compact-sm" variant="default" component={Link} to="/billing">
            Budgets
          </Button>
          {!budget.isStopped && (
            <Button size="compact-sm" variant="subtle" color="gray" onClick={hide}>
              Hide
            </Button>
          )}
        </>
      }
    >
      {budget.isStopped
        ? `No new workers or pods start until ${renewalDay(budget.month)}; jobs wait. ${budget.isByAdmin ? 'An admin can raise it.' : 'Raise it to start new ones.'}`
        : `It is renewed on ${renewalDay(budget.month)}.`}
    </Notice>
  );
}

function titleOf(budget: Budget): string {
  const of = budget.endpointId === null ? 'The monthly budget' : `The monthly budget of ${budgetName(budget)}`;
  const amount = formatUsd(Number(budget.amount));
  if (budget.isStopped) return `${of}, ${amount}, is used up.`;
  return `${of}, ${amount}, is used to ${formatPercent(budgetUse(budget).percent)}.`;
}

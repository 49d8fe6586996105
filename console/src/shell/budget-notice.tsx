import { Button } from '@mantine/core';
import { IconReceipt } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { api, unwrap } from '../api/client.ts';
import { type Budget, budgetName, budgetUse, mostUrgent, renewalDay } from '../pages/billing/budget-values.ts';
import { formatUsd } from '../ui/text/format.ts';
import { Notice } from './notice.tsx';

const REFRESH_MS = 60_000;
const HIDDEN = 'podyard.hiddenBudgets';

/** The budget that is used up, or the highest threshold that was passed. Nothing for keys that may not read billing. */
export function BudgetNotice() {
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
        ? `No new workers or pods start until ${renewalDay(budget.month)}; jobs wait. ${budget.isByAdmin ? 'An administrator can raise it.' : 'Raise it to go on.'}`
        : `It is renewed on ${renewalDay(budget.month)}.`}
    </Notice>
  );
}

function titleOf(budget: Budget): string {
  const of = budget.endpointId === null ? 'The monthly budget' : `The monthly budget of ${budgetName(budget)}`;
  const amount = formatUsd(Number(budget.amount));
  if (budget.isStopped) return `${of}, ${amount}, is used up.`;
  return `${of}, ${amount}, is used to ${budgetUse(budget).percent.toFixed(0)} %.`;
}

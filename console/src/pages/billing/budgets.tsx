import {
  Badge,
  Button,
  Group,
  Paper,
  Progress,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { recordOptions } from '../../ui/forms/fields.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import { EmptyNote, Loaded } from '../../ui/page.tsx';
import { formatPercent, formatUsd } from '../../ui/text/format.ts';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import {
  type Budget,
  type BudgetForm,
  budgetBody,
  budgetForm,
  budgetName,
  budgetSummary,
  budgetUse,
  byUrgency,
  renewalDay,
} from './budget-values.ts';
import { cents } from './cost-rows.ts';

const REFRESH_MS = 60_000;

/** The budgets, their use, and what they do when they are used up. */
export function Budgets({ isAll }: { isAll: boolean }) {
  const query = useQuery({
    queryKey: ['budgets', isAll],
    queryFn: () => unwrap(api.GET('/v2/billing/budgets', { params: { query: isAll ? { userId: 'all' } : {} } })),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Stack gap="sm" component="section" aria-labelledby="budgets">
      <Group justify="space-between">
        <Title order={2} size="h4" id="budgets">
          Budgets
        </Title>
        <NewBudget />
      </Group>
      <Loaded query={query}>
        {({ budgets }) =>
          budgets.length === 0 ? (
            <EmptyNote>
              No budgets. One notifies you when a month costs more than planned, and can keep new workers and pods from
              starting; queued jobs wait.
            </EmptyNote>
          ) : (
            <BudgetCards budgets={byUrgency(budgets)} isAll={isAll} />
          )
        }
      </Loaded>
    </Stack>
  );
}

/** More are shown on request, so that the costs below stay in sight. */
const SHOWN_FIRST = 8;

function BudgetCards({ budgets, isAll }: { budgets: readonly Budget[]; isAll: boolean }) {
  const [hasMore, setMore] = useState(false);
  const shown = hasMore ? budgets : budgets.slice(0, SHOWN_FIRST);
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3, xl: 4 }} spacing="sm">
        {shown.map((budget) => (
          <BudgetCard key={budget.id} budget={budget} isAll={isAll} />
        ))}
      </SimpleGrid>
      {shown.length < budgets.length && (
        <Button variant="subtle" size="compact-sm" style={{ alignSelf: 'start' }} onClick={() => setMore(true)}>
          Show all {budgets.length}
        </Button>
      )}
    </>
  );
}

function BudgetCard({ budget, isAll }: { budget: Budget; isAll: boolean }) {
  const { percent, color } = budgetUse(budget);
  const name = budgetName(budget);
  const text = `${formatUsd(cents(budget.spent))} of ${formatUsd(cents(budget.amount))}`;
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" wrap="nowrap" mb={4}>
        <Text fw={600} size="sm" truncate title={visibleText(name)}>
          {isAll && (
            <>
              <Name>{budget.userName}</Name>:{' '}
            </>
          )}
          <Name>{name}</Name>
        </Text>
        {(isAll || !budget.isByAdmin) && <CardActions budget={budget} name={name} />}
      </Group>
      <Text className="figure">
        {text}{' '}
        <Text span size="sm" c="dimmed">
          {formatPercent(percent)}
        </Text>
      </Text>
      <Progress value={Math.min(100, percent)} color={color} my={6} aria-label={visibleText(`${name}: ${text}`)} />
      <Hint size="xs">{describe(budget)}</Hint>
      {budget.isStopped && (
        <Badge color="red" variant="light" tt="none" mt={6}>
          Stopped until {renewalDay(budget.month)}
        </Badge>
      )}
    </Paper>
  );
}

function describe({ notifyAt, action, isByAdmin, webhook }: Budget): string {
  const at = notifyAt.length === 0 ? '' : `Notifies at ${notifyAt.map((percent) => `${percent} %`).join(', ')}`;
  const how = webhook === null || at === '' ? at : `${at}, by webhook too`;
  const end = action === 'STOP' ? 'Stops when used up' : '';
  return [how, end, isByAdmin ? 'Set by an admin' : ''].filter((part) => part !== '').join('. ');
}

function CardActions({ budget, name }: { budget: Budget; name: string }) {
  const { id: budgetId } = budget;
  return (
    <Group gap={4} wrap="nowrap">
      <FormButton
        label="Edit"
        title={`Budget: ${name}`}
        queryKey="budgets"
        isInRow
        recordId={budgetId}
        submitLabel="Save"
        summary={budgetSummary}
        initial={budgetForm(budget)}
        onSubmit={(values) =>
          unwrap(
            api.PATCH('/v2/billing/budgets/{budgetId}', { params: { path: { budgetId } }, body: budgetBody(values) }),
          )
        }
      >
        {(form) => <Fields form={form} />}
      </FormButton>
      <DeleteButton
        what="budget"
        name={name}
        queryKey="budgets"
        consequence="Nothing is limited by it any more, and what it stopped starts again."
        onConfirm={() => unwrap(api.DELETE('/v2/billing/budgets/{budgetId}', { params: { path: { budgetId } } }))}
      />
    </Group>
  );
}

function NewBudget() {
  return (
    <FormButton
      label="New budget"
      title="New budget"
      queryKey="budgets"
      summary={budgetSummary}
      initial={budgetForm()}
      onSubmit={(values) => {
        const endpointId = values.endpointId === '' ? null : values.endpointId;
        return unwrap(api.POST('/v2/billing/budgets', { body: { ...budgetBody(values), endpointId } }));
      }}
    >
      {(form) => (
        <>
          <EndpointSelect form={form} />
          <Fields form={form} />
        </>
      )}
    </FormButton>
  );
}

/** Read when the form opens. */
function EndpointSelect({ form }: { form: UseFormReturnType<BudgetForm> }) {
  const { data } = useQuery({ queryKey: ['endpoints', 'names'], queryFn: () => unwrap(api.GET('/v2/serverless')) });
  const endpoints = recordOptions(data?.endpoints);
  return (
    <Select
      label="For"
      searchable
      limit={50}
      allowDeselect={false}
      data={[{ value: '', label: 'Everything' }, ...endpoints]}
      {...form.getInputProps('endpointId')}
    />
  );
}

function Fields({ form }: { form: UseFormReturnType<BudgetForm> }) {
  return (
    <>
      <TextInput
        label="Amount"
        description="US dollars a month (UTC)"
        required
        data-autofocus
        inputMode="decimal"
        placeholder="250"
        {...form.getInputProps('amount')}
      />
      <TextInput
        label="Notify at"
        description="Percent of the amount, each once a month"
        {...form.getInputProps('notifyAt')}
      />
      <TextInput
        label="Webhook"
        description="Optional: notices are also sent there"
        placeholder="https://"
        {...form.getInputProps('webhook')}
      />
      <Switch
        label="Stop when it is used up"
        description="No new workers or pods start. Running jobs end, others wait; pods that run stay."
        {...form.getInputProps('stops', { type: 'checkbox' })}
      />
    </>
  );
}

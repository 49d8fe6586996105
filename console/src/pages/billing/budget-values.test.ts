import { expect, test } from 'vitest';
import {
  type Budget,
  budgetBody,
  budgetForm,
  budgetName,
  budgetSummary,
  budgetUse,
  mostUrgent,
  renewalDay,
} from './budget-values.ts';

const budget: Budget = {
  id: 'b1',
  userId: 'me',
  userName: 'alice',
  endpointId: null,
  endpointName: null,
  isByAdmin: false,
  amount: '200',
  action: 'STOP',
  notifyAt: [50, 80],
  webhook: null,
  month: '2026-12',
  spent: '50',
  isStopped: false,
  passed: [],
};

test('a form sets what its budget had', () => {
  const { amount, action, notifyAt, webhook } = budget;
  expect(budgetBody(budgetForm(budget))).toEqual({ amount, action, notifyAt, webhook });
  expect(budgetForm()).toMatchObject({ notifyAt: '80, 100', stops: false });
});

test.each([
  ['50 80', [50, 80]],
  ['50%, 80 %', [50, 80]],
  ['', []],
  ['half', [Number.NaN]],
])('percentages %j are %j', (notifyAt, percents) => {
  expect(budgetBody({ ...budgetForm(), notifyAt }).notifyAt).toEqual(percents);
});

test('the use of a budget is colored by urgency', () => {
  expect(budgetUse(budget)).toEqual({ percent: 25, color: 'blue' });
  expect(budgetUse({ ...budget, spent: '160', passed: [80] })).toEqual({ percent: 80, color: 'orange' });
  expect(budgetUse({ ...budget, spent: '300', passed: [80, 100] })).toEqual({ percent: 150, color: 'red' });
  expect(budgetUse({ ...budget, amount: '0', spent: '0', isStopped: true })).toEqual({ percent: 100, color: 'red' });
});

test('the banner is about a budget that stops, else about the highest threshold', () => {
  const some = { ...budget, id: 'b2', passed: [50] };
  const more = { ...budget, id: 'b3', passed: [50, 80] };
  const stopped = { ...budget, id: 'b4', isStopped: true, passed: [] };
  expect(mostUrgent([budget])).toBeUndefined();
  expect(mostUrgent([budget, some, more])?.id).toBe('b3');
  expect(mostUrgent([some, stopped, more])?.id).toBe('b4');
});

test('a budget is renewed on the first of the next month, also in December', () => {
  const first = new Date(Date.UTC(2027, 0)).toLocaleDateString(undefined, {
    timeZone: 'UTC',
    month: 'long',
    day: 'numeric',
  });
  expect(renewalDay('2026-12')).toBe(first);
  expect(budgetName({ endpointId: 'e1', endpointName: 'llm' })).toBe('llm');
});

test('a new budget says at which dollars it notifies, and what happens when it is used up', () => {
  const form = { ...budgetForm(), amount: '$250', notifyAt: '100, 80' };
  expect(budgetSummary(form)).toMatchObject({
    price: '$250.00',
    facts: [
      { label: 'Notifies', value: 'at $200.00, $250.00' },
      { label: 'Used up', value: 'nothing stops' },
    ],
  });
  const unfinished = budgetSummary({ ...form, amount: 'x', notifyAt: '80', webhook: 'https://a.example', stops: true });
  expect(unfinished).toMatchObject({
    price: null,
    facts: [{ value: 'at 80 %' }, { value: 'the webhook' }, { value: 'nothing new starts until the next month' }],
  });
});

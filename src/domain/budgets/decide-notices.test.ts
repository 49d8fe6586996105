import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromUnits, toUnits } from '../billing/money.ts';
import { decideNotices, isPassed, type NoticeFacts } from './decide-notices.ts';

const budget: NoticeFacts = { amount: '100', spent: '0', action: 'NOTIFY', notifyAt: [50, 80], passed: [] };

test.each<[string, Partial<NoticeFacts>, number[], number | null]>([
  ['nothing was spent', {}, [], null],
  ['just below the first threshold', { spent: '49.999999999999' }, [], null],
  ['exactly at the first', { spent: '50' }, [50], 50],
  ['the first is recorded', { spent: '60', passed: [50] }, [], null],
  ['both at once: the higher one is reported', { spent: '99' }, [50, 80], 80],
  ['without a threshold at 100, a budget that only notifies has none', { spent: '500' }, [50, 80], 80],
  ['one that stops always has one', { spent: '500', action: 'STOP' }, [50, 80, 100], 100],
  ['beyond the amount', { spent: '121', notifyAt: [120, 150] }, [120], 120],
  ['an amount of nothing is used up at once', { amount: '0', action: 'STOP', notifyAt: [] }, [100], 100],
])('%s', (_name, change, passed, report) => {
  expect(decideNotices({ ...budget, ...change })).toEqual({ passed, report });
});

test('each threshold is passed once, whatever is spent between two looks, and only if so much was spent', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 18n }).map(fromUnits);
  fc.assert(
    fc.property(
      amount,
      fc.array(amount, { minLength: 1 }),
      fc.array(fc.integer({ min: 1, max: 1_000 })),
      fc.constantFrom('NOTIFY' as const, 'STOP' as const),
      (limit, steps, notifyAt, action) => {
        const seen: number[] = [];
        let spent = 0n;
        for (const step of steps) {
          spent += toUnits(step);
          const facts = { amount: limit, spent: fromUnits(spent), action, notifyAt, passed: [...seen] };
          seen.push(...decideNotices(facts).passed);
        }
        expect(new Set(seen).size).toBe(seen.length);
        const due = [...new Set([...notifyAt, ...(action === 'STOP' ? [100] : [])])];
        expect([...seen].sort()).toEqual(due.filter((percent) => isPassed(percent, limit, fromUnits(spent))).sort());
      },
    ),
  );
});

import { expect, test } from 'vitest';
import { LIMIT_NAMES, limitBars, limitChange, limitForm, limitState, type UserLimits } from './limit-values.ts';

const limits = Object.fromEntries(LIMIT_NAMES.map((name) => [name, null])) as UserLimits['limits'];
const none = { quota: null, used: 0, borrowed: 0 };
const user: UserLimits = {
  userId: 'u',
  name: 'alice',
  limits,
  own: {},
  usage: { endpoints: 3, pods: 0, workers: 7, gpus: 6, queuedJobs: 0, queuedBytes: 1_572_864, logBytesToday: 0 },
  quotas: { workers: none, gpus: none },
};
const barOf = (of: UserLimits, name: string) => limitBars(of).find((bar) => bar.name === name);

test('a limit with a use has a bar, one without a limit none', () => {
  expect(barOf({ ...user, limits: { ...limits, workers: 28 } }, 'workers')).toEqual({
    name: 'workers',
    label: 'Workers at once',
    text: '7 of 28',
    percent: 25,
    isFull: false,
  });
  expect(barOf(user, 'workers')).toMatchObject({ text: '7, unlimited', percent: null, isFull: false });
  expect(barOf(user, 'requestBytes')).toMatchObject({ text: 'Unlimited', percent: null });
  expect(barOf({ ...user, limits: { ...limits, requestBytes: 1024 } }, 'requestBytes')).toMatchObject({
    text: '1 KiB',
  });
});

test('bytes are sizes, and a limit that is used up or 0 is full', () => {
  const of = { ...user, limits: { ...limits, queuedBytes: 3 * 2 ** 20, endpoints: 3, pods: 0 } };
  expect(barOf(of, 'queuedBytes')).toMatchObject({ text: '1.5 MiB of 3 MiB', percent: 50, isFull: false });
  expect(barOf(of, 'endpoints')).toMatchObject({ percent: 100, isFull: true });
  expect(barOf(of, 'pods')).toMatchObject({ text: '0 of 0', percent: 100, isFull: true });
});

test('a quota is shown where there is one, with what is borrowed', () => {
  expect(barOf(user, 'gpuQuota')).toBeUndefined();
  const of = {
    ...user,
    limits: { ...limits, gpuQuota: 4 },
    quotas: { workers: none, gpus: { quota: 4, used: 6, borrowed: 2 } },
  };
  expect(barOf(of, 'gpuQuota')).toMatchObject({ text: '6 of 4, 2 borrowed', percent: 100, isFull: true });
});

test('only what changed is sent: empty inherits, unlimited is null', () => {
  const own = { workers: 5, pods: null, gpus: 8 };
  expect(limitForm(own)).toMatchObject({ workers: '5', pods: 'unlimited', gpus: '8', endpoints: '' });
  expect(limitChange(own, limitForm(own))).toEqual({ body: {}, errors: [] });
  const form = { ...limitForm(own), workers: ' 50 ', pods: '', gpus: 'Unlimited', gpuQuota: '4' };
  expect(limitChange(own, form).body).toEqual({ workers: 50, pods: 'DEFAULT', gpus: null, gpuQuota: 4 });
});

test('what is no number is an error at its field', () => {
  for (const text of ['many', '-1', '1.5', '1e3']) {
    expect(limitChange({}, { ...limitForm({}), workers: text })).toEqual({
      body: {},
      errors: ['/workers: must be a whole number, unlimited, or empty'],
    });
  }
});

test('a tiny use is 0 percent, not a number with an exponent, which a progress bar may not have', () => {
  const of = { ...user, limits: { ...limits, queuedBytes: 10 * 2 ** 30 }, usage: { ...user.usage, queuedBytes: 30 } };
  expect(barOf(of, 'queuedBytes')).toMatchObject({ percent: 0 });
});

test('a user at a limit, one who borrows and any other are told apart; a quota is no limit', () => {
  const borrows = { ...none, quota: 4, used: 6, borrowed: 2 };
  expect(limitState(user)).toBe('WITHIN');
  expect(limitState({ ...user, limits: { ...limits, gpuQuota: 4 }, quotas: { workers: none, gpus: borrows } })).toBe(
    'BORROWING',
  );
  expect(limitState({ ...user, limits: { ...limits, endpoints: 3 } })).toBe('FULL');
});

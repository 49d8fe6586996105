import { expect, test } from 'vitest';
import type { EndpointId, UserId } from '../../../core/ids.ts';
import type { EndpointUser } from '../../../domain/quotas/endpoint-users.ts';
import type { ScalingAction } from '../../../scaling/decide-workers.ts';
import { UserAllowances } from './user-allowances.ts';

const anna: EndpointUser = {
  endpointId: 'e' as EndpointId,
  userId: 'anna' as UserId,
  workerLimit: 6,
  gpuLimit: null,
  workers: 0,
  gpus: 0,
  gpusPerWorker: 1,
  budget: null,
};
const starts = (count: number) => ({
  actions: Array<ScalingAction>(count).fill({ kind: 'start', version: 1, pause: null, cause: 'DEMAND', reason: '' }),
});
const elsewhere = (allowances: UserAllowances, user: EndpointUser) => allowances.cut(user, 99, []);

test('workers that are written while users are being read still count: the read may have been too early', () => {
  const allowances = new UserAllowances();
  allowances.beginRead()();
  const written = allowances.add(anna, starts(4));
  const end = allowances.beginRead();
  const tooEarly = { ...anna, workers: 0 };
  written();
  expect(elsewhere(allowances, tooEarly)).toMatchObject({ elsewhere: 4, max: 2 });
  expect(allowances.isAdding(anna)).toBe(true);
  end();
  allowances.beginRead();
  expect(elsewhere(allowances, { ...anna, workers: 4 })).toMatchObject({ elsewhere: 4, max: 2 });
  expect(allowances.isAdding(anna)).toBe(false);
});

test('of two reads in progress, the one that began before workers were written keeps them counted until it ends', () => {
  const allowances = new UserAllowances();
  const endEarly = allowances.beginRead();
  allowances.add(anna, starts(4))();
  const endLate = allowances.beginRead();
  expect(elsewhere(allowances, anna)).toMatchObject({ elsewhere: 4, max: 2 });
  endEarly();
  expect(elsewhere(allowances, { ...anna, workers: 4 })).toMatchObject({ elsewhere: 4, max: 2 });
  endLate();
});

test('workers that could not be written count no longer', () => {
  const allowances = new UserAllowances();
  allowances.add(anna, starts(6))();
  allowances.beginRead();
  expect(elsewhere(allowances, anna)).toMatchObject({ elsewhere: 0, max: 6 });
});

test('a decision that adds nothing makes nothing uncertain', () => {
  const allowances = new UserAllowances();
  allowances.add(anna, starts(0));
  expect(allowances.isAdding(anna)).toBe(false);
});

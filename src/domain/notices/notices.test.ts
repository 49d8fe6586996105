import { describe, expect, test } from 'vitest';
import type { EndpointId, UserId } from '../../core/ids.ts';
import type { EndpointFacts } from '../endpoints/endpoint-state.ts';
import { decideNotices, type OpenNotice } from './decide-notices.ts';
import { findConditions, unknownEvents } from './find-conditions.ts';
import { type Condition, INSTALLATION_EVENTS, NOTICE_EVENTS } from './notice.ts';
import type { ExpiringKey, NoticeFacts } from './notice-facts.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const MINUTE = 60_000;
const DAY = 86_400_000;
const earlier = (ms: number) => new Date(NOW - ms);
const ALICE = 'alice' as UserId;
const TEAM = 'team' as UserId;

const HEALTHY: EndpointFacts = {
  ...{ version: 3, newestVersion: 3, trialFailure: null, workersMin: 0, workersMax: 3, isRolloutPaused: false },
  ...{ releasedAt: null, waiting: 0, running: 0, throttledSince: null, startingSince: null, unhealthySince: null },
  workers: { ready: 1, starting: 0, throttled: 0, unhealthy: 0, outdated: 0, frozen: 0 },
  ...{ throttledReason: null, unhealthyReason: null, losses: null, lastExitAt: null, limitedSince: null },
  ...{ limitReason: null, budget: null, webhookRefusal: null },
};
const NOTHING: NoticeFacts = {
  ...{ endpoints: [], budgets: [], keys: [], disk: null, auditStreams: [], update: null },
  leader: { epoch: 7, sinceMs: NOW - 100 * MINUTE, before: { epoch: 7, lookedAtMs: NOW - MINUTE } },
};
const endpoint = (facts: Partial<EndpointFacts>, oldestQueuedAt: Date | null = null): NoticeFacts => ({
  ...NOTHING,
  endpoints: [
    {
      id: 'e1' as EndpointId,
      name: 'llm',
      userId: ALICE,
      owner: 'alice',
      oldestQueuedAt,
      facts: { ...HEALTHY, ...facts },
    },
  ],
});
const key = (leftMs: number, lifeMs: number, more: Partial<ExpiringKey> = {}): NoticeFacts => ({
  ...NOTHING,
  keys: [
    {
      ...{ id: 'k1', kind: 'API', userId: ALICE, owner: 'alice', name: 'ci', teamOwners: [] },
      createdAt: new Date(NOW + leftMs - lifeMs),
      expiresAt: new Date(NOW + leftMs),
      ...more,
    },
  ],
});
const found = (facts: NoticeFacts, userId: UserId | null = null, more: object = {}) =>
  findConditions(facts, { userId, events: [...NOTICE_EVENTS], waitMinutes: 10, createdAt: earlier(DAY), ...more }, NOW);

describe('what is told', () => {
  const losses = { failedStarts: 3, failingSince: earlier(MINUTE), inRow: 3, rowSince: null, lastAt: earlier(MINUTE) };
  test('an endpoint that fails, without its output, which may hold anything', () => {
    const failing = endpoint({ losses: { ...losses, lastReason: 'it exited with code 1:\nPASSWORD=hunter2' } });
    const [condition] = found(failing);
    expect(condition).toMatchObject({ event: 'ENDPOINT_FAILING', subject: 'e1', name: 'llm', page: '/endpoints/e1' });
    expect(condition!.detail).toBe('the last 3 starts failed: it exited with code 1');
  });
  test('a release that failed its trial while an earlier one serves', () => {
    const [condition] = found(endpoint({ newestVersion: 4, trialFailure: 'it exited with code 2:\nsecret' }));
    expect(condition).toMatchObject({ event: 'ENDPOINT_FAILING', subject: 'e1:4' });
    expect(condition!.detail).toBe('version 4 failed its trial: it exited with code 2');
  });
  test.each([
    ['capacity', 9, 0],
    ['capacity', 10, 1],
    ['queue', 9, 0],
    ['queue', 10, 1],
  ])('a wait for %s of %i minutes is told %i times, with 10 minutes wanted', (what, minutes, times) => {
    const workers = { ...HEALTHY.workers, ready: 0, throttled: 1 };
    const facts =
      what === 'queue'
        ? endpoint({}, earlier(minutes * MINUTE))
        : endpoint({ workers, throttledSince: earlier(minutes * MINUTE), throttledReason: 'no capacity' });
    expect(found(facts)).toHaveLength(times);
  });
  test.each([
    ['a week before', 6.9 * DAY, 90 * DAY, 'k1:7'],
    ['a day before', 0.9 * DAY, 90 * DAY, 'k1:1'],
    ['not earlier', 7.1 * DAY, 90 * DAY, undefined],
    ['not once it expired', -1, 90 * DAY, undefined],
    ['a key of ten days only a day before', 6 * DAY, 10 * DAY, undefined],
    ['a key of a day never', 0.5 * DAY, DAY, undefined],
  ])('a key that expires: %s', (_, left, life, subject) => {
    expect(found(key(left, life))[0]?.subject).toBe(subject);
  });
  test('a key of a team is told to the team and to its owners, and to nobody else', () => {
    const facts = key(DAY / 2, 90 * DAY, { userId: TEAM, owner: 'vision', teamOwners: [ALICE] });
    expect([TEAM, ALICE, null].map((userId) => found(facts, userId).length)).toEqual([1, 1, 1]);
    expect(found(facts, 'mallory' as UserId)).toEqual([]);
  });
  test('the highest threshold of a budget that was passed', () => {
    const budget = {
      id: 'b',
      userId: ALICE,
      owner: 'alice',
      name: null,
      month: '2026-11',
      amount: '100',
      spent: '101.987654321',
    };
    const [one, ...others] = found({ ...NOTHING, budgets: [{ ...budget, passed: [80, 100], isStopped: true }] });
    expect(one).toMatchObject({ event: 'BUDGET', subject: 'b:2026-11:100:100' });
    expect(one!.detail).toContain('101.99 of 100.00 USD (100 %)');
    expect(one!.detail).toContain('no more workers and pods are started');
    expect(others).toEqual([]);
  });
  test('disk, leader, audit stream and a newer version: only to the installation', () => {
    const facts: NoticeFacts = {
      ...NOTHING,
      disk: 'The disk of the data directory has 1.0 GiB of 100.0 GiB left',
      leader: { epoch: 8, sinceMs: NOW - MINUTE, before: { epoch: 7, lookedAtMs: NOW - 6 * MINUTE } },
      auditStreams: [{ kind: 'the webhook', failures: 3, lastError: 'no answer' }],
      update: { version: '0.3.0', current: '0.2.0', place: '/srv/podyard' },
    };
    expect(found(facts).map(({ event }) => event)).toEqual(INSTALLATION_EVENTS);
    expect(found(facts)[1]!.detail).toContain('after up to 5 min without one');
    expect(found(facts, ALICE)).toEqual([]);
    expect(found(facts, null, { createdAt: new Date(NOW) }).map(({ event }) => event)).not.toContain('LEADER_CHANGED');
    const first = { epoch: 8, sinceMs: NOW, before: null };
    expect(found({ ...NOTHING, leader: first })).toEqual([]);
  });
  test('nothing of others, and no event that was not wanted', () => {
    const failing = endpoint({ trialFailure: 'x', newestVersion: 4 });
    expect(found(failing, 'bob' as UserId)).toEqual([]);
    expect(found(failing, ALICE, { events: ['BUDGET'] })).toEqual([]);
    expect(found(endpoint({}), ALICE)).toEqual([]);
  });
});

describe('what is decided', () => {
  const condition: Condition = {
    ...{
      event: 'ENDPOINT_FAILING',
      phase: 'BEGAN',
      subject: 'e1',
      name: 'llm',
      owner: 'alice',
      detail: 'x',
      page: '/',
    },
    accounts: [ALICE],
  };
  const open = (more: Partial<OpenNotice> = {}): OpenNotice => ({
    ...{ event: 'ENDPOINT_FAILING', subject: 'e1', item: condition, absentSince: null },
    ...more,
  });
  const decide = (conditions: Condition[], notices: OpenNotice[], unknown: ReturnType<typeof unknownEvents> = []) => {
    const { begin, end, absent, returned } = decideNotices(conditions, notices, unknown, NOW);
    return [begin, end, absent, returned].map(({ length }) => length);
  };
  test.each([
    ['what begins is told', [condition], [], [1, 0, 0, 0]],
    ['what goes on is not told again', [condition], [open()], [0, 0, 0, 0]],
    ['what is away for the first time is only noted', [], [open()], [0, 0, 1, 0]],
    ['what was away for four minutes is not over', [], [open({ absentSince: earlier(4 * MINUTE) })], [0, 0, 0, 0]],
    ['what was away for five minutes is over', [], [open({ absentSince: earlier(5 * MINUTE) })], [0, 1, 0, 0]],
    ['what returns in between is not told again', [condition], [open({ absentSince: earlier(MINUTE) })], [0, 0, 0, 1]],
    ['a key that is gone is forgotten at once', [], [open({ event: 'KEY_EXPIRES' })], [0, 1, 0, 0]],
  ] as const)('%s', (_, conditions, notices, wanted) => {
    expect(decide([...conditions], [...notices])).toEqual(wanted);
  });
  test('what is not known neither begins nor ends', () => {
    expect(unknownEvents({ disk: undefined, update: undefined })).toEqual(['DISK', 'UPDATE_AVAILABLE']);
    expect(unknownEvents({ disk: null, update: null })).toEqual([]);
    const disk = open({ event: 'DISK', subject: 'data', absentSince: earlier(10 * MINUTE) });
    expect(decide([], [disk], ['DISK'])).toEqual([0, 0, 0, 0]);
    expect(decide([], [disk])).toEqual([0, 1, 0, 0]);
  });
});

import { expect, test } from 'vitest';
import type { Schemas } from '../../../api/client.ts';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import {
  diffValue,
  digestText,
  rolloutText,
  rolloutWait,
  trialText,
  variableChanges,
  versionText,
} from './release-text.ts';

const TRIAL: Schemas['ReleaseTrial'] = {
  state: 'PASSED',
  reason: null,
  lines: [],
  workerId: null,
  servingVersion: null,
};
const ROLLOUT = { inProgress: true, paused: false, workersTotal: 4, workersOnLatest: 1, percentOnLatest: 25 };

test('a rollout shows how many workers are on the latest version', () => {
  expect(rolloutText(ROLLOUT, 3)).toBe('1 of 4 workers on version 3.');
});

test('a paused rollout says so', () => {
  expect(rolloutText({ ...ROLLOUT, paused: true }, 3)).toBe('1 of 4 workers on version 3. The roll-out is paused.');
});

test('without workers there is nothing to roll out', () => {
  expect(rolloutText({ ...ROLLOUT, workersTotal: 0, workersOnLatest: 0 }, 3)).toBe(
    'No workers running. The next one starts on the latest version.',
  );
});

test('while an earlier version serves, that is what the next worker starts on', () => {
  const rollout = { ...ROLLOUT, workersTotal: 0, trial: { ...TRIAL, state: 'FAILED' as const, servingVersion: 2 } };
  expect(rolloutText(rollout, 3)).toBe('No workers running. The next one starts on version 2.');
});

const trialOf = (trial: object | undefined) =>
  trialText({ endpointVersion: 3, rollout: { ...ROLLOUT, trial } } as unknown as EndpointSnapshot);

test.each<[string, object, string | null]>([
  ['No worker has run version 3 yet.', { state: 'NOT_TRIED' }, 'Try it'],
  [
    'Version 3 was not tried: the roll-out is paused.',
    { state: 'SKIPPED', reason: 'the roll-out is paused' },
    'Try it',
  ],
  ['Version 3 is tried: it waits for a worker: no capacity.', { state: 'WAITING', reason: 'no capacity' }, null],
  ['Version 3 is tried: its worker is becoming ready.', { state: 'RUNNING' }, null],
  [
    'Version 3 failed its trial. Version 2 goes on serving.',
    { state: 'FAILED', reason: 'x', servingVersion: 2 },
    'Try again',
  ],
])('a trial says how it stands: %s', (title, trial, action) => {
  expect(trialOf({ ...TRIAL, ...trial })).toMatchObject({ title, action });
});

test('a trial that failed has its output, one that passed or is unknown says nothing', () => {
  const failed = trialOf({
    ...TRIAL,
    state: 'FAILED',
    reason: 'it exited with code 1',
    lines: ['Traceback', 'KeyError'],
  });
  expect(failed?.failure).toBe('it exited with code 1:\nTraceback\nKeyError');
  expect(trialOf(TRIAL)).toBeNull();
  expect(trialOf(undefined)).toBeNull();
});

test('a diff shows values in words, each variable with its name, and a missing or empty value as none', () => {
  const values = ['acme/w:1', 2, ['A', 'B'], { A: '1', B: null }, null, undefined, '', [], {}];
  expect(values.map(diffValue)).toEqual([
    'acme/w:1',
    '2',
    'A, B',
    'A: 1, B: none',
    ...Array(2).fill('none'),
    '',
    'none',
    'none',
  ]);
});

const worker = (status: string, isStale = false, reason: string | null = null) => ({ status, isStale, reason });
const waitOf = (workers: object[], more: object = {}, rollout: object = {}) =>
  rolloutWait({
    state: { state: 'ROLLING_OUT', since: null, reason: null, warnings: [] },
    rollout: { ...ROLLOUT, ...rollout },
    endpointVersion: 3,
    workers,
    ...more,
  } as unknown as EndpointSnapshot);

test.each<[string, object[]]>([
  [
    'Waits for capacity for a worker on version 3: no capacity',
    [worker('THROTTLED', false, 'no capacity'), worker('RUNNING', true)],
  ],
  ['A worker on version 3 is unhealthy: GET /ping: 500', [worker('UNHEALTHY', false, 'GET /ping: 500')]],
  [
    'Waits for a worker on version 3 to become ready: pulls its image',
    [worker('INITIALIZING', false, 'pulls its image')],
  ],
  [
    'Waits for 2 workers of older versions to finish their work.',
    [worker('IDLE'), worker('RUNNING', true), worker('RUNNING', true)],
  ],
  ['Waits for 1 worker of older versions to finish its work.', [worker('IDLE'), worker('RUNNING', true)]],
  ['Replaces 1 worker of older versions.', [worker('IDLE'), worker('IDLE', true)]],
  ['Waits for the first worker on version 3.', []],
])('a roll-out says what it waits for: %s', (text, workers) => {
  expect(waitOf(workers)).toBe(text);
});

test('a roll-out whose workers fail says so, one that is paused what stays, and none that is over says anything', () => {
  const state = { state: 'FAILING', since: null, reason: 'the last start failed: exit 1:\nCUDA out of memory' };
  expect(waitOf([worker('INITIALIZING')], { state })).toBe("Version 3 doesn't start.");
  expect(waitOf([worker('IDLE', true)], {}, { paused: true })).toBe(
    '1 worker of older versions stays until you resume it.',
  );
  expect(waitOf([worker('IDLE')], {}, { inProgress: false })).toBeNull();
});

test('while an earlier version serves, no worker of it is replaced, and the page says which version serves', () => {
  const trial = { ...TRIAL, state: 'FAILED', servingVersion: 2 };
  expect(waitOf([worker('IDLE', true)], {}, { trial })).toBeNull();
  const snapshot = (rollout: object) => ({ endpointVersion: 3, rollout }) as unknown as EndpointSnapshot;
  expect(versionText(snapshot({ ...ROLLOUT, trial }))).toBe('Version 2 serves, 3 failed');
  expect(versionText(snapshot({ ...ROLLOUT, trial: TRIAL }))).toBe('Version 3');
  expect(versionText(undefined)).toBe('Version …');
});

test('of variables, whose values are not shown, a release says which ones differ', () => {
  expect(variableChanges({ A: '***', B: '***' }, { B: '***', C: '***' })).toBe('A removed, B changed, C added');
  expect(variableChanges({}, { A: '***' })).toBe('A added');
});

test('a release says what its image stands for, and whether that is being found out', () => {
  expect(digestText('sha256:ab', false)).toBe('sha256:ab');
  expect(digestText('sha256:ab', true)).toBe('sha256:ab; being resolved anew');
  expect(digestText(null, false)).toContain('not resolved yet');
});

import { expect, test } from 'vitest';
import type { EndpointStateName } from '../endpoints/endpoint-state.ts';
import { type ExplainedStage, explainWait, type WaitStage } from './explain-job.ts';

const inState = (state: EndpointStateName, reason: string | null = null) => ({ state, since: null, reason });
const at = (stage: WaitStage, reason: string | null = null): ExplainedStage => ({
  ...{ stage, from: new Date(0), to: null, reason },
});
const job = { isLowPriority: false, ahead: 3 };

test.each<[string, Parameters<typeof explainWait>, string, string | RegExp]>([
  ['other jobs', [inState('HEALTHY'), job, at('queue')], 'BUSY', /other jobs come first/],
  ['a job to stop', [inState('HEALTHY'), { ...job, ahead: 0 }, at('queue', 'w stops')], 'BUSY', /busy; w stops$/],
  ['nothing but the run of another', [inState('ROLLING_OUT'), { ...job, ahead: 0 }, at('queue')], 'BUSY', /next one/],
  ['an image', [inState('STARTING'), job, at('pull')], 'STARTING', 'a worker pulls its image'],
  ['a start with a reason', [inState('STARTING'), job, at('ready', 'loads')], 'STARTING', 'loads'],
  ['the first worker', [inState('SCALED_TO_ZERO'), job, at('worker')], 'STARTING', /no worker has been started/],
  [
    'others, as it starts no worker',
    [inState('SCALED_TO_ZERO'), { isLowPriority: true, ahead: 0 }, at('worker')],
    'LOW_PRIORITY',
    /starts no worker/,
  ],
  ['a worker on its way', [inState('STARTING'), { isLowPriority: true, ahead: 0 }, at('pull')], 'STARTING', /pulls/],
  ['capacity', [inState('WAITING_FOR_CAPACITY', 'no GPU'), job, at('capacity')], 'WAITING_FOR_CAPACITY', 'no GPU'],
  [
    'a worker that starts',
    [inState('FAILING', 'the last start failed:\nboom'), job, undefined],
    'FAILING',
    'the last start failed:\nboom',
  ],
  ['a larger maximum', [inState('PAUSED', 'workers.max is 0'), job, at('worker')], 'PAUSED', 'workers.max is 0'],
  [
    'a worker, whatever the roll-out does',
    [inState('PAUSED', 'the roll-out is paused'), job, at('queue')],
    'BUSY',
    /other jobs/,
  ],
])('it waits for %s', (_, given, reason, text) => {
  const wait = explainWait(...given);
  expect(wait).toMatchObject({ reason, ahead: given[1].ahead });
  expect(wait.text).toMatch(text);
});

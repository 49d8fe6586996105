import { expect, test } from 'vitest';
import type { UnfinishedBuild } from '../../domain/builds/running-builds.ts';
import { decideBuilds } from './decide-builds.ts';

const NAME = 'waits for an earlier build of this name';
const LIMIT = "waits for another build: the limit 'builds' allows 1 at once";
const PLACES = 'waits for other builds to end';

/** `anna:app` is queued, `anna:app!` runs. */
function build(text: string, i: number, more: Partial<UnfinishedBuild> = {}): UnfinishedBuild {
  const [, userId, name, runs] = /^(\w+):(\w+)(!?)$/.exec(text)!;
  return {
    ...{ id: `b${i}` as never, userId: userId as never, name: name!, status: runs ? 'BUILDING' : 'QUEUED' },
    ...{ isCancelling: false, interruptions: 0, reason: null, limit: 1, userStartedAt: null },
    ...more,
  };
}

test.each<[string, string[], number, string[], Record<string, string>]>([
  ['nothing is queued', ['anna:a!'], 1, [], {}],
  ['the first of one user starts', ['anna:a', 'anna:b'], 2, ['b0'], { b1: LIMIT }],
  ['another user starts beside it', ['anna:a!', 'anna:b', 'berta:a'], 2, ['b2'], { b1: LIMIT }],
  ['the places are taken', ['anna:a!', 'berta:a'], 1, [], { b1: PLACES }],
  ['builds of one name wait for each other', ['anna:a', 'anna:a', 'anna:a'], 5, ['b0'], { b1: NAME, b2: NAME }],
  ['a name of another user is another name', ['anna:a!', 'berta:a'], 2, ['b1'], {}],
])('%s', (_, texts, atOnce, start, waits) => {
  const decision = decideBuilds(
    texts.map((text, i) => build(text, i)),
    atOnce,
  );
  expect([decision.start, Object.fromEntries(decision.waits)]).toEqual([start, waits]);
});

test('a later build of a name never overtakes an earlier one that waits for something else', () => {
  const builds = ['anna:a!', 'anna:b', 'anna:b'].map((text, i) => build(text, i, { limit: 2 }));
  expect(decideBuilds(builds, 9).start).toEqual(['b1']);
});

test('the user whose last build began longest ago is next', () => {
  const at = (ms: number) => ({ userStartedAt: new Date(ms) });
  const builds = [
    build('anna:a', 0, at(3)),
    build('anna:b', 1, at(3)),
    build('berta:a', 2, at(2)),
    build('carla:a', 3),
  ];
  expect(decideBuilds(builds, 1).start).toEqual(['b3']);
  expect(decideBuilds(builds, 2).start).toEqual(['b3', 'b2']);
  expect(decideBuilds(builds, 9).start).toEqual(['b3', 'b2', 'b0']);
});

test('without a limit of the user, all but those of one name start', () => {
  const builds = ['anna:a', 'anna:b', 'anna:a'].map((text, i) => build(text, i, { limit: null }));
  expect(decideBuilds(builds, 9).start).toEqual(['b0', 'b1']);
});

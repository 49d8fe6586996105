import { expect, test } from 'vitest';
import { PullWatch } from './pull-watch.ts';

test('a pull on a node is told by its time, every two seconds, until something else happens', () => {
  const said: (string | null)[] = [];
  const progress = { last: { reason: 'Scheduled', message: 'to node-1', at: 0 } };
  const watch = new PullWatch(progress, 'ghcr.io/a/b:v1', (how) => said.push(how));
  watch.look(500);
  progress.last = { reason: 'Pulling', message: 'Pulling image "podyard:1"', at: 1_000 }; // for the models
  watch.look(4_000);
  progress.last = { reason: 'Pulling', message: 'Pulling image "ghcr.io/a/b:v1"', at: 5_000 };
  for (const now of [5_500, 7_000, 8_000, 9_100]) watch.look(now);
  expect(said).toEqual(['pulling image ghcr.io/a/b:v1 for 2 s', 'pulling image ghcr.io/a/b:v1 for 4 s']);
  progress.last = { reason: 'Pulled', message: 'Successfully pulled image', at: 9_500 };
  watch.look(9_600);
  watch.look(9_700);
  expect(said.slice(2)).toEqual([null]);
});

import { expect, test } from 'vitest';
import type { EndpointId } from './ids.ts';
import { addDelta, Metrics, takeDelta } from './metrics.ts';

const [A, B, C] = ['a', 'b', 'c'] as EndpointId[];

function count(metrics: Metrics): void {
  for (const id of [A!, B!, C!]) {
    metrics.jobsOf(id).submitted += 2;
    metrics.jobEnded(id, 'COMPLETED', 30, 1_000);
  }
  metrics.requestEnded('queue', 'run', 200, 3);
  metrics.requestEnded('queue', 'run', 429, 1);
  metrics.proxyEnded('pod', 502, 40);
  metrics.coldStartStage('pull', 900);
  metrics.thaws.observe(0.02);
  metrics.eventLoopLag.observe(0.001);
  metrics.fallbackWrites.add();
}

test('deltas of several processes add up to what one process would have counted, in any order', () => {
  const alone = new Metrics({ maxEndpoints: 2 });
  const sum = new Metrics({ maxEndpoints: 2 });
  for (const metrics of [new Metrics({ maxEndpoints: 1000 }), new Metrics({ maxEndpoints: 1000 })]) {
    for (let i = 0; i < 3; i++) {
      count(metrics);
      count(alone);
      addDelta(sum, structuredClone(takeDelta(metrics)));
    }
  }
  expect(sum.jobs).toEqual(alone.jobs);
  expect(sum.routes).toEqual(alone.routes);
  expect(sum.proxy).toEqual(alone.proxy);
  expect([sum.coldStarts, sum.thaws, sum.eventLoopLag]).toEqual([alone.coldStarts, alone.thaws, alone.eventLoopLag]);
  expect(sum.fallbackWrites).toEqual(alone.fallbackWrites);
});

test('a delta is returned only once', () => {
  const metrics = new Metrics({ maxEndpoints: 1000 });
  count(metrics);
  takeDelta(metrics);
  const sum = new Metrics({ maxEndpoints: 2 });
  addDelta(sum, takeDelta(metrics));
  expect(sum).toEqual(new Metrics({ maxEndpoints: 2 }));
});

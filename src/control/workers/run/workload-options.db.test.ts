import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import { upsertWorkloadOptions } from '../../../domain/workload-options/workload-options-store.ts';
import type { WorkloadSpec } from '../../../runtimes/runtime.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

const started: WorkloadSpec[] = [];
let control: ControlLoops;
beforeAll(async () => {
  const behave = (spec: WorkloadSpec) => {
    started.push(spec);
    return {};
  };
  const pools = [{ pool: 'ADA_24', gpuTypeId: 'x', dataCenterId: 'LOCAL-1', total: 4 }];
  const rules = { podMetadata: ['team'], maxCpusPerGpu: 2, maxMemoryGbPerGpu: 3 };
  control = await ControlLoops.start(new SimulatedWorld({ behave, pools }), undefined, rules);
});
afterAll(() => control.close());

test('workers start with the options of their endpoint that the operator permits, others without', async () => {
  const tuned = await control.endpoint({ gpu: { pools: ['ADA_24'], count: 2 } });
  const plain = await control.endpoint();
  await upsertWorkloadOptions(control.database.pool, tuned, {
    labels: { team: 'vision', other: 'x' },
    annotations: { other: 'x' },
    cpusPerGpu: 1.5,
    memoryGbPerGpu: 64, // more than is permitted today
  });
  await control.submit(tuned);
  await control.submit(plain);
  await vi.waitFor(() => expect(started).toHaveLength(2), { timeout: 15_000, interval: 20 });
  const specs = new Map(started.map((spec) => [spec.endpointId, spec]));
  expect(specs.get(tuned)).toMatchObject({
    metadata: { labels: { team: 'vision' }, annotations: {} },
    cpus: 3,
    memoryBytes: 6 * 2 ** 30,
    requestShare: 1,
  });
  expect(specs.get(plain)!.metadata).toEqual({ labels: {}, annotations: {} });
  expect(specs.get(plain)!.requestShare).toBeLessThan(1);
});

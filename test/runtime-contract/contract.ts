import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import type { Runtime, WorkloadSpec } from '../../src/runtimes/runtime.ts';
import { workloadSpec } from '../workload-spec.ts';
import { execContract } from './exec.ts';
import { lifeContract } from './life.ts';
import { logsContract } from './logs.ts';
import { placesContract } from './places.ts';
import { lineOf, type Program, type RuntimeUnderTest, type Suite } from './probes.ts';

/** `life`: from start to stop; `access`: logs, places and programs. */
export type ContractPart = 'life' | 'access';

/**
 * Tests the guarantees of runtime.ts. Each runtime calls this in its own test file; one whose workloads take long to start and
 * stop has a file for each part, which run at the same time.
 */
export function runtimeContract(
  name: string,
  makeRuntime: () => Promise<RuntimeUnderTest>,
  parts: readonly ContractPart[] = ['life', 'access'],
): void {
  describe(`${name}: the contract of a runtime`, { timeout: 60_000 }, () => {
    let under: RuntimeUnderTest;
    let runtime: Runtime;
    const installation = newId<string>();
    const opened: Runtime[] = [];

    const closeLater = (one: Runtime) => void opened.push(one);
    const open = async (of: string) => {
      const one = await under.open(of);
      closeLater(one);
      return one;
    };
    const spec = (program: Program, more: Partial<WorkloadSpec> = {}): WorkloadSpec =>
      workloadSpec({ image: under.image, args: under.programs[program], ...more });
    const started = async (program: Program, more: Partial<WorkloadSpec> = {}) => {
      const wanted = spec(program, more);
      await runtime.start(wanted);
      return wanted.id;
    };
    const ready = async (program: 'idle' | 'deaf') => {
      const id = await started(program);
      await lineOf(runtime, id, (line) => line === 'ready');
      return id;
    };

    beforeAll(async () => {
      process.env.PODYARD_TEST_LEAK = 'the server’s own';
      under = await makeRuntime();
      runtime = await open(installation);
      await runtime.prepare(under.image);
    }, 120_000);
    afterEach(async () => {
      await Promise.all((await runtime.list()).map(({ id }) => runtime.stop(id, 0)));
    }, 120_000);
    afterAll(async () => {
      delete process.env.PODYARD_TEST_LEAK;
      for (const one of opened) await one.close();
      await under?.close?.();
    }, 120_000);

    const suite: Suite = {
      under: () => under,
      runtime: () => runtime,
      installation,
      open,
      closeLater,
      spec,
      started,
      ready,
    };
    if (parts.includes('life')) lifeContract(suite);
    if (!parts.includes('access')) return;
    logsContract(suite);
    placesContract(suite);
    execContract(suite);
  });
}

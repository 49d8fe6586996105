import { setTimeout as sleep } from 'node:timers/promises';
import { usageOfTree } from '../queue/process-usage.ts';
import type { Fleet } from './fleet.ts';

/** Calls `act` repeatedly for `seconds`. Returns each process's CPU use, in percent of one processor. */
export async function watch(pids: readonly number[], seconds: number, act: () => Promise<unknown>): Promise<number[]> {
  const before = pids.map((pid) => usageOfTree(pid).cpuSeconds);
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1000) await act();
  const tookS = (performance.now() - startedAt) / 1000;
  return pids.map((pid, i) => (100 * (usageOfTree(pid).cpuSeconds - before[i]!)) / tookS);
}

/** Half of the changes are jobs on endpoints at zero, which start and stop a worker; half are jobs for kept workers. */
export class Pace {
  readonly #fleet: Fleet;
  readonly #perQuarter: number;
  readonly #open = new Set<string>();
  /** Changes so far. */
  made = 0;
  #debt = 0;
  #next = 0;

  constructor(fleet: Fleet, changesPerSecond: number) {
    this.#fleet = fleet;
    this.#perQuarter = changesPerSecond / 4;
  }

  /** Makes the changes of a quarter of a second, and takes that long. */
  async quarter(): Promise<void> {
    const startedAt = performance.now();
    this.#debt += this.#perQuarter;
    const chosen: string[] = [];
    for (; this.#debt >= 1; this.#debt -= 1) {
      const kind = this.#next % 2 === 0 ? this.#fleet.sleepers : this.#fleet.keepers;
      const id = kind[Math.floor(this.#next / 2) % kind.length]!;
      this.#next += 1;
      if (!this.#open.has(id)) chosen.push(id);
    }
    if (chosen.length > 0) {
      await this.#fleet.submit(chosen);
      for (const id of chosen) this.#open.add(id);
      this.made += chosen.length;
    }
    await sleep(50);
    await this.#fleet.makeReady([...this.#open]);
    for (const id of await this.#fleet.finish([...this.#open])) this.#open.delete(id);
    await sleep(Math.max(0, 250 - (performance.now() - startedAt)));
  }
}

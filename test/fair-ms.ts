import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Takes 10 ms of a processor again and again, and answers the first message with how long that took by both clocks. */
const SAMPLER = `
  const { parentPort } = require('node:worker_threads');
  let [wallMs, cpuMs, isOver] = [0, 0, false];
  parentPort.once('message', () => { isOver = true; });
  function sample() {
    const [beganAt, before] = [performance.now(), process.threadCpuUsage()];
    let usedMs = 0;
    while (usedMs < 10) {
      const { user, system } = process.threadCpuUsage(before);
      usedMs = (user + system) / 1000;
    }
    wallMs += performance.now() - beganAt;
    cpuMs += usedMs;
    if (isOver) parentPort.postMessage({ wallMs, cpuMs });
    else setTimeout(sample, 70);
  }
  sample();
`;

/** Measures the share of a processor that a busy program gets, from 0 to 1, beside all that the machine has to do. */
export class FairShare {
  readonly #sampler = new Worker(SAMPLER, { eval: true });

  static async start(): Promise<FairShare> {
    const share = new FairShare();
    await once(share.#sampler, 'online');
    return share;
  }

  /** Resolves with the share since the start. */
  async stop(): Promise<number> {
    this.#sampler.postMessage('over');
    const [{ wallMs, cpuMs }] = (await once(this.#sampler, 'message')) as [{ wallMs: number; cpuMs: number }];
    await this.dispose();
    return Math.min(1, cpuMs / wallMs);
  }

  async dispose(): Promise<void> {
    await this.#sampler.terminate();
  }
}

/**
 * Returns how many milliseconds `work` would take on a machine with nothing else to do: the time on the clock, by the share of a
 * processor that a busy program got meanwhile. For limits that are promised, where a test has neighbours.
 */
export async function fairMs(work: () => Promise<unknown>): Promise<number> {
  const share = await FairShare.start();
  try {
    const startedAt = performance.now();
    await work();
    const tookMs = performance.now() - startedAt;
    return tookMs * (await share.stop());
  } finally {
    await share.dispose();
  }
}

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEndpoint, startPodyard } from './podyard.ts';
import { findPostgresBelow, usageOfTree } from './process-usage.ts';

export interface RestResult {
  /** Shares of one core, in percent. */
  idleServerPercent: number;
  idlePostgresPercent: number;
  idleRssMb: number;
  /** From the start of the process to its ready line, with an existing data directory. */
  nodeReadyMs: number[];
  npmReadyMs: number[];
}

const SETTLE_MS = 10_000;
const STARTS = 5;

/** Measures a complete Podyard with the embedded PostgreSQL and one endpoint: CPU and memory at rest, and time to ready. */
export async function measureRest(tempDir: string, options: { idleSeconds: number }): Promise<RestResult> {
  const dataDir = join(tempDir, 'rest');
  const podyard = await startPodyard({ dataDir });
  await createEndpoint(podyard);
  const postgresPid = findPostgresBelow(dataDir);
  await sleep(SETTLE_MS);
  const usage = () => ({ server: usageOfTree(podyard.pid), postgres: usageOfTree(postgresPid) });
  const before = usage();
  await sleep(options.idleSeconds * 1000);
  const after = usage();
  await podyard.stop();
  const percent = (part: 'server' | 'postgres') =>
    ((after[part].cpuSeconds - before[part].cpuSeconds) / options.idleSeconds) * 100;
  return {
    idleServerPercent: percent('server'),
    idlePostgresPercent: percent('postgres'),
    idleRssMb: after.server.rssMb,
    nodeReadyMs: await timeStarts(dataDir, false),
    npmReadyMs: await timeStarts(dataDir, true),
  };
}

async function timeStarts(dataDir: string, withNpm: boolean): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const podyard = await startPodyard({ dataDir, withNpm });
    times.push(podyard.readyMs);
    await podyard.stop();
  }
  return times;
}

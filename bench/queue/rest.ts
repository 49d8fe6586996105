import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEndpoint, KEY, startPodyard } from './podyard.ts';
import { findPostgresBelow, usageOfTree } from './process-usage.ts';
import { type Program, startProgram } from './program.ts';

export interface RestResult {
  /** Shares of one core, in percent. */
  idleServerPercent: number;
  idlePostgresPercent: number;
  idleRssMb: number;
  /** From the start of the process to its ready line, with an existing data directory. */
  nodeReadyMs: number[];
  /** CPU time of the process until then. */
  nodeReadyCpuMs: number[];
  /** To the first answer of the API, for which it was asked at once. */
  nodeAnswerMs: number[];
  npmReadyMs: number[];
  /** A Node.js that prints a line and waits. */
  bare: { readyMs: number[]; readyCpuMs: number[]; idlePercent: number; rssMb: number };
}

/** Longer than PostgreSQL takes to vacuum its catalogs, and the server to notice that nothing happens. */
const SETTLE_MS = 25_000;
const STARTS = 5;

/** Measures a complete Podyard with the embedded PostgreSQL and one endpoint: time to ready, then CPU and memory at rest. */
export async function measureRest(tempDir: string, options: { idleSeconds: number }): Promise<RestResult> {
  const dataDir = join(tempDir, 'rest');
  const first = await startPodyard({ dataDir });
  await createEndpoint(first);
  await first.stop();
  const starts = await timeStarts(dataDir);
  const podyard = await startPodyard({ dataDir });
  const bare = await startBare();
  const postgresPid = findPostgresBelow(dataDir);
  await sleep(SETTLE_MS);
  const usage = () => [podyard.pid, postgresPid, bare.pid].map((pid) => usageOfTree(pid));
  const before = usage();
  await sleep(options.idleSeconds * 1000);
  const after = usage();
  await podyard.stop();
  await bare.stop();
  const [server, postgres, bareNode] = after.map(
    ({ cpuSeconds }, i) => ((cpuSeconds - before[i]!.cpuSeconds) / options.idleSeconds) * 100,
  );
  return {
    idleServerPercent: server!,
    idlePostgresPercent: postgres!,
    idleRssMb: after[0]!.rssMb,
    ...starts,
    bare: { ...(await timeBareStarts()), idlePercent: bareNode!, rssMb: after[2]!.rssMb },
  };
}

async function timeStarts(
  dataDir: string,
): Promise<Pick<RestResult, 'nodeReadyMs' | 'nodeReadyCpuMs' | 'nodeAnswerMs' | 'npmReadyMs'>> {
  const times = { nodeReadyMs: [] as number[], nodeReadyCpuMs: [] as number[], nodeAnswerMs: [] as number[] };
  const npmReadyMs: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const podyard = await startPodyard({ dataDir });
    times.nodeReadyMs.push(podyard.readyMs);
    times.nodeReadyCpuMs.push(usageOfTree(podyard.pid).cpuSeconds * 1000);
    const askedAt = performance.now();
    const response = await fetch(`${podyard.clientUrl}/v2/serverless`, { headers: { authorization: `Bearer ${KEY}` } });
    if (response.status !== 200) throw new Error(`the first request returned ${response.status}`);
    await response.text();
    times.nodeAnswerMs.push(podyard.readyMs + performance.now() - askedAt);
    await podyard.stop();
    const withNpm = await startPodyard({ dataDir, withNpm: true });
    npmReadyMs.push(withNpm.readyMs);
    await withNpm.stop();
  }
  return { ...times, npmReadyMs };
}

function startBare(): Promise<Program> {
  const code = "process.stdout.write('ready\\n'); setInterval(() => {}, 1 << 30)";
  return startProgram({ command: process.execPath, args: ['-e', code], ready: /(ready)/ });
}

async function timeBareStarts(): Promise<{ readyMs: number[]; readyCpuMs: number[] }> {
  const [readyMs, readyCpuMs]: number[][] = [[], []];
  for (let i = 0; i < STARTS; i++) {
    const bare = await startBare();
    readyMs!.push(bare.readyMs);
    readyCpuMs!.push(usageOfTree(bare.pid).cpuSeconds * 1000);
    await bare.stop();
  }
  return { readyMs: readyMs!, readyCpuMs: readyCpuMs! };
}

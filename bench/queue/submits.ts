import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createEndpoint, KEY, startPodyard } from './podyard.ts';
import { usageOfTree } from './process-usage.ts';
import type { Setup } from './systems.ts';

/** Large jobs that are all sent at once, and what the disk takes of the same bytes. */
export interface SubmitsRun {
  accepted: number;
  refused: number;
  /** Why the first was refused. */
  refusal: string | null;
  mbPerSecond: number;
  /** The same bytes written to a file, and flushed as often as jobs are committed. */
  diskMbPerSecond: number;
  serverCpuMs: number;
  storeCpuMs: number;
  peakRssMb: number;
}

const COUNT = 200;
const BYTES = 8 * 2 ** 20;
const RSS_EVERY_MS = 50;

/** Sends 200 jobs of 8 MB on as many connections, after and before the disk has written as much. CPU times are those of one job. */
export async function measureSubmits(setup: Setup, options: { rounds: number }): Promise<SubmitsRun[]> {
  const runs: SubmitsRun[] = [];
  for (let round = 0; round < options.rounds; round++) {
    process.stderr.write(`round ${round + 1} of ${options.rounds}: ${COUNT} jobs of ${BYTES / 2 ** 20} MB\n`);
    const databaseUrl = await setup.postgres.createDatabase(`podyard_submits_${round}`);
    const dataDir = join(setup.tempDir, `podyard-submits-${round}`);
    const podyard = await startPodyard({ dataDir, databaseUrl, nodeArgs: setup.nodeArgs });
    try {
      const url = `${podyard.clientUrl}/v2/${await createEndpoint(podyard)}/run`;
      const before = writeToDisk(setup.tempDir);
      const run = await sendAll(url, { server: podyard.pid, store: setup.postgres.pid });
      runs.push({ ...run, diskMbPerSecond: (before + writeToDisk(setup.tempDir)) / 2 });
    } finally {
      await podyard.stop();
    }
  }
  return runs;
}

async function sendAll(
  url: string,
  pids: { server: number; store: number },
): Promise<Omit<SubmitsRun, 'diskMbPerSecond'>> {
  const body = Buffer.from(JSON.stringify({ input: TEXT.repeat(BYTES / TEXT.length) }));
  let peakRssMb = 0;
  const watching = setInterval(() => {
    peakRssMb = Math.max(peakRssMb, usageOfTree(pids.server).rssMb);
  }, RSS_EVERY_MS);
  const cpu = () => [pids.server, pids.store].map((pid) => usageOfTree(pid).cpuSeconds);
  const cpuBefore = cpu();
  const startedAt = performance.now();
  const answers = await Promise.all(Array.from({ length: COUNT }, () => send(url, body)));
  const seconds = (performance.now() - startedAt) / 1000;
  const [serverCpuMs, storeCpuMs] = cpu().map((after, i) => ((after - cpuBefore[i]!) * 1000) / COUNT);
  clearInterval(watching);
  const refused = answers.filter(({ status }) => status !== 200);
  const accepted = COUNT - refused.length;
  return {
    ...{ accepted, refused: refused.length, refusal: refused[0]?.text ?? null, peakRssMb },
    ...{ mbPerSecond: (accepted * BYTES) / 2 ** 20 / seconds, serverCpuMs: serverCpuMs!, storeCpuMs: storeCpuMs! },
  };
}

const TEXT = 'The quick brown fox jumps over the lazy dog 0123456789 times... ';

function send(url: string, body: Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const headers = { authorization: KEY, 'content-type': 'application/json', 'content-length': body.length };
    const req = request(url, { method: 'POST', headers, agent: false }, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk));
      res.on('end', () => resolve({ status: res.statusCode!, text }));
    });
    req.on('error', (error) => resolve({ status: 0, text: String(error) }));
    req.end(body);
  });
}

/** Returns how many MB a second the disk writes. */
function writeToDisk(dir: string): number {
  const path = join(dir, 'written');
  const file = openSync(path, 'w');
  const bytes = Buffer.alloc(BYTES, TEXT);
  const startedAt = performance.now();
  for (let written = 0; written < COUNT; written++) {
    for (let at = 0; at < BYTES; ) at += writeSync(file, bytes, at);
    fdatasyncSync(file);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  closeSync(file);
  rmSync(path);
  return (COUNT * BYTES) / 2 ** 20 / seconds;
}

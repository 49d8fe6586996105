import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LoadMode, LoadResult } from './load.ts';
import type { WorkerIdentity } from './players.ts';

/** A running system under test. */
export interface Subject {
  name: string;
  pid: number;
  /** The process that stores its jobs. */
  store: { name: string; pid: number };
  clientUrl: string;
  workerUrl: string;
  endpointIds: readonly string[];
  key: string;
  workers: WorkerIdentity[];
  stop(): Promise<void>;
}

const LOAD = fileURLToPath(new URL('./load.ts', import.meta.url));
/** The time of a run beyond its measured part: start, settling, responses in flight, twenty seconds to drain. */
const SLACK_SECONDS = 40;

/** Runs one mode of load against the subject, in its own process. Writes the workers' tokens to `tempDir`. */
export async function playOn(
  subject: Subject,
  tempDir: string,
  mode: LoadMode,
  options: { seconds: number; warmUp: number; [flag: string]: number },
): Promise<LoadResult> {
  const workersFile = join(tempDir, `${subject.endpointIds[0]}-workers.json`);
  await writeFile(workersFile, JSON.stringify(subject.workers));
  const { warmUp, ...flags } = options;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      LOAD,
      ...['--mode', mode, '--client-url', subject.clientUrl, '--worker-url', subject.workerUrl],
      ...['--endpoints', subject.endpointIds.join(','), '--key', subject.key, '--workers', workersFile],
      ...['--watch', `server=${subject.pid}`, '--watch', `store=${subject.store.pid}`],
      ...['--warm-up', String(warmUp)],
      ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]),
    ],
    { timeout: (options.seconds + warmUp + SLACK_SECONDS) * 1000, killSignal: 'SIGKILL' },
  );
  const result = JSON.parse(stdout) as LoadResult;
  const faults = result.errors + (result.lost ?? 0) + result.takenTwice;
  if (faults > 0) {
    process.stderr.write(
      `${subject.name}, ${mode}: ${result.errors} failed requests, ${result.lost} jobs lost, ` +
        `${result.takenTwice} taken twice; ${result.firstError}\n`,
    );
  }
  return result;
}

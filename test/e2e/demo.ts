import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TestedRuntime } from './server-process.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const STEPS = [
  /Podyard is ready at http:\S+ after [\d.]+ s, with the (process|docker) runtime/,
  / s {2}endpoint \w+ deployed from podyard\/echo-js:dev; no worker runs yet/,
  / s {2}first job: a worker started from zero in \d+ ms/,
  / s {2}12 jobs at once: all answered, by [12] workers?/,
  / s {2}a streaming job: 5 chunks received while it ran/,
  / s {2}PATCH to podyard\/echo-js:v2: version 2 rolled out .*the running job was not disturbed/,
  / s {2}a job on the new release says "hello again"/,
  / s {2}idle for 2 s: all workers are gone again/,
];

/** Runs `npm run demo -- --exit` as a newcomer does. */
export function demoTest(runtime: TestedRuntime): void {
  test(`npm run demo -- --exit exits with 0 and prints each step with its time (${runtime})`, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'podyard-demo-'));
    const flags = ['--exit', '--port', '0', '--runtime', runtime, '--data-dir', dataDir];
    const foreign = /^(PODYARD_|DATABASE_URL$)/;
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
    const child = spawn('npm', ['run', 'demo', '--', ...flags], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // its own process group, to stop it as a whole
    });
    try {
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
      const [code] = await once(child, 'close', { signal: AbortSignal.timeout(110_000) }).catch((error) => {
        throw new Error(`the demo did not end:\n${output}`, { cause: error });
      });
      expect({ code, output }).toMatchObject({ code: 0 });
      for (const step of STEPS) expect(output).toMatch(step);
    } finally {
      if (child.exitCode === null) {
        const closed = once(child, 'close');
        process.kill(-child.pid!, 'SIGTERM');
        await closed;
      }
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    }
  });
}

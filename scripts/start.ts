/**
 * `npm start` and `npm run demo`: the program that scripts/start.sh names, with the console and the documentation of this checkout.
 * What is older than its sources is built as soon as the server is ready, at the lowest priority: the server shows a page until
 * then, and the program is that of the next start.
 */
import { spawn } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { READY } from '../src/core/flow/ready-channel.ts';

const ROOT = join(import.meta.dirname, '..');
const LOG = 'node_modules/.cache/podyard-build.log';

const [main] = process.argv.splice(2, 1);
subscribe(READY, buildParts);
await import(join(ROOT, main!));

/** The build writes into a file: it may outlive this process, and whatever reads its output need not wait for it. */
function buildParts(): void {
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
  const log = openSync(join(ROOT, LOG), 'w');
  const build = spawn('sh', ['scripts/build-stale.sh', 'console', 'docs', 'program'], {
    cwd: ROOT,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  build.unref();
  build.on('error', (error) => reportFailure(error.message));
  build.on('exit', (code) => {
    if (code !== null && code > 0) reportFailure(reasonOf(readFileSync(join(ROOT, LOG), 'utf8')));
  });
  if (build.pid !== undefined) setPriority(build.pid, constants.priority.PRIORITY_LOW);
}

function reportFailure(reason: string): void {
  console.error(`! The pages or the program could not be built: ${reason}. All of it is in ${LOG}.`);
}

/** The first line with an error, else the last one. */
function reasonOf(text: string): string {
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim());
  const error = lines.find((line) => /^(\[[A-Z_]+\] |(\w+Error|Error|error): )|could not|cannot/i.test(line));
  const line = error ?? lines.findLast((line) => line !== '') ?? 'it says nothing';
  return line.replace(/^(\[[A-Z_]+\] |\w*Error: )/, '').replace(/\.$/, '');
}

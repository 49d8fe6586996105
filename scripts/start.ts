/**
 * `npm start` and `npm run demo`: the program, with the console and the documentation of this checkout. If they are older than
 * their sources they are built meanwhile, at the lowest priority; the server shows a page until then.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const LOG = 'node_modules/.cache/podyard-build.log';

buildPages();
await import('../src/main.ts');

/** The build writes into a file: it may outlive this process, and whatever reads its output need not wait for it. */
function buildPages(): void {
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
  const log = openSync(join(ROOT, LOG), 'w');
  const build = spawn('sh', ['scripts/build-stale.sh'], { cwd: ROOT, stdio: ['ignore', log, log] });
  build.unref();
  build.on('error', (error) => reportFailure(error.message));
  build.on('exit', (code) => {
    if (code !== null && code > 0) reportFailure(lastLine());
  });
  if (build.pid !== undefined) setPriority(build.pid, constants.priority.PRIORITY_LOW);
}

function reportFailure(reason: string): void {
  console.error(`! The console and the documentation could not be built: ${reason}. All of it is in ${LOG}.`);
}

/** What the build says, without the stack and Node.js's own last words. */
function lastLine(): string {
  const lines = readFileSync(join(ROOT, LOG), 'utf8').split('\n');
  const words = lines.filter((line) => /\S/.test(line) && !/^\s+at |^Node\.js v|^\s*[~^{}]+/.test(line));
  return (words.findLast((line) => /error/i.test(line)) ?? words.at(-1) ?? 'it says nothing').trim().replace(/\.$/, '');
}

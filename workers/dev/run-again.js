/**
 * Runs a program in a folder, and runs it anew whenever its code changes: the worker that `podyard dev` starts.
 *
 *   node run-again.js FOLDER [--of PID] [--in-turn] [--spare] -- COMMAND…
 *
 * A handler that is told to end (SIGTERM) finishes its job while the new one already takes the next. With `--in-turn` the new
 * program waits for the end of the old one, which has its port. With `--spare` the next program is started beforehand, with
 * PODYARD_SPARE=1: it loads what doesn't change, and waits for a line on its standard input before it reads the folder.
 * It ends with the process `--of`, however that ends. A program that ends by itself while it has jobs fails them and runs again at once,
 * one that has none after the next change.
 * Only files of code and settings count: a handler that writes its results into the folder does not restart itself.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchFolder } from './watch-folder.js';

const CODE = /\.(py|[cm]?js|[cm]?ts|[jt]sx|json|toml|ya?ml)$/;
/** Folders that hold what others have written: packages, caches, version control. */
const FOREIGN = /(^|\/)(\.[^/]+|node_modules|__pycache__|venv)(\/|$)/;
/** An editor writes a file in several steps. */
const SETTLE_MS = 20;
/** How long changes without such a pause may put the new code off. */
const LATEST_MS = 200;
/** How long a program may keep its port after SIGTERM. */
const PORT_MS = 5000;
/** How long jobs may take once it is told to end; one that never returns would keep its process for ever. */
const END_MS = 10_000;

/** The end of what a program printed goes into the reason of its jobs' failure. */
const TAIL_BYTES = 4096;
/** How long that may take to arrive: programs that it has started may keep its output open. */
const OUTPUT_MS = 200;
const PING_MS = 5000;

/** How often it looks whether the process that it belongs to is there. */
const LOOK_MS = 1000;

const [folder, ...rest] = process.argv.slice(2);
const at = rest.indexOf('--');
const [options, [program, ...args]] = [rest.slice(0, at), rest.slice(at + 1)];
const isInTurn = options.includes('--in-turn');
const hasSpare = options.includes('--spare');
const owner = options.includes('--of') ? Number(options[options.indexOf('--of') + 1]) : null;

/** Python takes compiled code for that of a file that was saved twice in a second and has the same size. */
const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
const running = new Set();
let current = null;
/** Waits to become the next `current`; null while there is none. */
let spare = null;
let isEnding = false;

function run() {
  const child = spawn(program, args, {
    cwd: folder,
    env: hasSpare ? { ...env, PODYARD_SPARE: '1' } : env,
    stdio: [hasSpare ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => {}); // it has ended, which is told below
  child.tail = Buffer.alloc(0);
  for (const name of ['stdout', 'stderr']) {
    child[name].on('data', (chunk) => {
      process[name].write(chunk);
      child.tail = Buffer.concat([child.tail, chunk]).subarray(-TAIL_BYTES);
    });
  }
  running.add(child);
  child.once('error', (error) => over(child, error.message));
  child.once('exit', (code, signal) => over(child, signal ?? `exit code ${code}`));
  return child;
}

async function over(child, how) {
  running.delete(child);
  if (isEnding) {
    if (running.size === 0) process.exit(0);
    return;
  }
  if (child === spare) {
    spare = null;
    return;
  }
  if (child.isReplaced && child.exitCode === 0) return;
  const seconds = ((performance.now() - child.startedAt) / 1000).toFixed(1);
  const what = `The program ended after ${seconds} s (${how})`;
  await Promise.race([once(child, 'close'), sleep(OUTPUT_MS)]);
  const failed = await failJobs(child, what);
  const runsAgain = child === current && !child.isReplaced && !isEnding;
  const line = child.tail.length === 0 || child.tail.at(-1) === 10 ? '' : '\n';
  if (failed > 0)
    console.log(
      `${line}! ${what}, and with it ${failed === 1 ? 'its job' : `its ${failed} jobs`}${runsAgain ? ': it runs again' : ''}`,
    );
  else if (runsAgain) console.log(`${line}! ${what}: it runs again when you save a file`);
  if (failed > 0 && runsAgain) start();
}

/** Fails the jobs of a program that has ended: the server would wait for them until the lease is over. Resolves with how many there were. */
async function failJobs(child, reason) {
  const { RUNPOD_WEBHOOK_PING: url, RUNPOD_AI_API_KEY: authorization } = process.env;
  if (!url) return 0;
  const ago = (at) => String(Math.round(performance.now() - at));
  const [output] = child.tail.toString().split('----- Native stack trace'); // which Node.js prints when its memory is full
  const query = new URLSearchParams({ status: 'ended', reason, output, since: ago(child.startedAt) });
  if (child.isReplaced) query.set('until', ago(child.replacedAt));
  try {
    const signal = AbortSignal.timeout(PING_MS);
    const answer = await fetch(`${url}&${query}`, { headers: { authorization }, signal });
    return (await answer.json()).jobs.length;
  } catch {
    return 0;
  }
}

function start() {
  current = spare ?? run();
  current.startedAt = performance.now();
  if (!hasSpare) return;
  current.stdin.end('\n');
  spare = run();
}

async function restart(path) {
  console.log(`… ${path} has changed: running the new code`);
  const old = current;
  old.isReplaced = true;
  old.replacedAt = performance.now();
  if (running.has(old)) {
    old.kill('SIGTERM');
    if (isInTurn) await ended(old);
  }
  if (!isEnding) start();
}

function ended(child) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), PORT_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

let timer = null;
let isRestarting = false;
let changed = null;
let changedAt = null;
function restartSoon(path) {
  changed = path;
  if (isRestarting) return; // the change is looked at afterwards
  changedAt ??= performance.now();
  clearTimeout(timer);
  timer = setTimeout(restartChanged, Math.min(SETTLE_MS, changedAt + LATEST_MS - performance.now()));
}

async function restartChanged() {
  isRestarting = true;
  while (changed !== null && !isEnding) {
    const path = changed;
    changed = null;
    await restart(path);
  }
  isRestarting = false;
  changedAt = null;
}

function end() {
  isEnding = true;
  for (const child of running) child.kill('SIGTERM');
  if (running.size === 0) process.exit(0);
  setTimeout(() => {
    for (const child of running) child.kill('SIGKILL');
  }, END_MS);
}

function isThere(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, end);
if (owner !== null) {
  const look = setInterval(() => {
    if (isThere(owner)) return;
    clearInterval(look);
    end();
  }, LOOK_MS);
}

watchFolder(folder, {
  isForeign: (path) => FOREIGN.test(path),
  onChange: (path) => {
    if (CODE.test(path)) restartSoon(path);
  },
  onError: ({ message }) => console.log(`! Some changes in ${folder} cannot be seen: ${message}`),
});
start();

/**
 * Runs a program in a folder, and runs it anew whenever its code changes: the worker that `podyard dev` starts.
 *
 *   node run-again.js FOLDER [--of PID] [--in-turn] [--spare] -- COMMAND…
 *
 * A handler that is told to end (SIGTERM) finishes its job while the new one already takes the next. With `--in-turn` the new
 * program waits for the end of the old one, which has its port. With `--spare` the next program is started beforehand, with
 * PODYARD_SPARE=1: it loads what doesn't change, and waits for a line on its standard input before it reads the folder.
 * It ends with the process `--of`, however that ends. A program that ends by itself runs again after the next change.
 * Only files of code and settings count: a handler that writes its results into the folder does not restart itself.
 */
import { spawn } from 'node:child_process';
import { watchFolder } from './watch-folder.js';

const CODE = /\.(py|[cm]?js|[cm]?ts|[jt]sx|json|toml|ya?ml)$/;
/** Folders that hold what others have written: packages, caches, version control. */
const FOREIGN = /(^|\/)(\.[^/]+|node_modules|__pycache__|venv)(\/|$)/;
/** An editor writes a file in several steps. */
const SETTLE_MS = 20;
/** How long a program may keep its port after SIGTERM. */
const PORT_MS = 5000;

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
    stdio: [hasSpare ? 'pipe' : 'ignore', 'inherit', 'inherit'],
  });
  child.stdin?.on('error', () => {}); // it has ended, which is told below
  running.add(child);
  const over = (why) => {
    running.delete(child);
    if (isEnding) {
      if (running.size === 0) process.exit(0);
    } else if (child === spare) spare = null;
    else if (child === current && !child.isReplaced) {
      const seconds = ((performance.now() - child.startedAt) / 1000).toFixed(1);
      console.log(`! The program ended after ${seconds} s (${why}): it runs again when you save a file`);
    }
  };
  child.once('error', (error) => over(error.message));
  child.once('exit', (code, signal) => over(signal ?? `exit code ${code}`));
  return child;
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
function restartSoon(path) {
  changed = path;
  clearTimeout(timer);
  if (isRestarting) return; // the change is looked at afterwards
  timer = setTimeout(async () => {
    isRestarting = true;
    while (changed !== null && !isEnding) {
      const first = changed;
      changed = null;
      await restart(first);
    }
    isRestarting = false;
  }, SETTLE_MS);
}

function end() {
  isEnding = true;
  for (const child of running) child.kill('SIGTERM');
  if (running.size === 0) process.exit(0);
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

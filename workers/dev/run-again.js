/**
 * Runs a program in a folder, and runs it anew whenever its code changes: the worker that `podyard dev` starts.
 *
 *   node run-again.js FOLDER [--of PID] [--in-turn] -- COMMAND…
 *
 * A handler that is told to end (SIGTERM) finishes its job while the new one already takes the next. With `--in-turn` the new
 * program waits for the end of the old one, which has its port. It ends with the process `--of`, however that ends. A program that ends by itself runs again after the next change.
 * Only files of code and settings count: a handler that writes its results into the folder does not restart itself.
 */
import { spawn } from 'node:child_process';
import { lstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

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
const owner = options.includes('--of') ? Number(options[options.indexOf('--of') + 1]) : null;

/** Python takes compiled code for that of a file that was saved twice in a second and has the same size. */
const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
const running = new Set();
let current = null;
let isEnding = false;

function start() {
  const startedAt = performance.now();
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'inherit', 'inherit'] });
  current = child;
  running.add(child);
  const over = (why) => {
    running.delete(child);
    if (isEnding) {
      if (running.size === 0) process.exit(0);
      return;
    }
    if (child !== current || child.isReplaced) return;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`! The program ended after ${seconds} s (${why}): it runs again when you save a file`);
  };
  child.once('error', (error) => over(error.message));
  child.once('exit', (code, signal) => over(signal ?? `exit code ${code}`));
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
async function restartSoon(path) {
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

/** Elsewhere Node.js watches each file, and no longer sees one that an editor has replaced: each folder gets a watch of its own. */
const isRecursive = process.platform === 'darwin' || process.platform === 'win32';
/** By path in the folder. */
const watchers = new Map();

function watchFolder(path) {
  watchers.get(path)?.close(); // of a folder of that name that is gone
  const lost = ({ message }) => console.log(`! Changes in ${join(folder, path)} cannot be seen: ${message}`);
  try {
    const watcher = watch(join(folder, path), { recursive: isRecursive }, (event, name) => {
      if (name !== null) seen(join(path, name), event);
    });
    watchers.set(path, watcher.on('error', lost));
  } catch (error) {
    if (error.code !== 'ENOENT') lost(error);
  }
  if (!isRecursive) for (const inner of foldersIn(path)) watchFolder(inner);
}

function seen(path, event) {
  if (FOREIGN.test(path)) return;
  if (CODE.test(path)) void restartSoon(path);
  else if (event === 'rename' && !isRecursive && isFolder(path)) {
    watchFolder(path);
    const [code] = list(path).filter((entry) => CODE.test(entry.name)); // written before the watch was there
    if (code) void restartSoon(join(path, code.name));
  }
}

const list = (path) => {
  try {
    return readdirSync(join(folder, path), { withFileTypes: true });
  } catch {
    return []; // it has gone
  }
};
const foldersIn = (path) =>
  list(path)
    .filter((entry) => entry.isDirectory() && !FOREIGN.test(join(path, entry.name)))
    .map((entry) => join(path, entry.name));
const isFolder = (path) => lstatSync(join(folder, path), { throwIfNoEntry: false })?.isDirectory() === true;

watchFolder('');
start();

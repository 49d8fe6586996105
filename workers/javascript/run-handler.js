/**
 * Serves a function of a file with the worker kit beside this one: `node run-handler.js handler.js default`.
 *
 * `podyard deploy` adds it to images of folders that export a handler and start nothing. The file may also export `concurrency` (how
 * many jobs run at once), and `onSleep` and `onWake`; podyard-worker.js says what they do.
 */
import { existsSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { start } from './podyard-worker.js';

const [, , file, name] = process.argv;

/** Prints why the worker cannot start, and ends it. */
function fail(why) {
  console.error(why);
  process.exit(1);
}

async function load(path) {
  if (!existsSync(path)) fail(`${file} is not there: it should have the handler`);
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    if (error.code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    return fail(
      `${file} needs Node.js 22.18 or newer, and this is ${process.version}: it alone runs TypeScript as it is`,
    );
  }
}

/** A CommonJS module has its exports in `default`. */
function find(module, wanted) {
  const own = module.default;
  if (wanted !== 'default') return module[wanted] ?? own?.[wanted];
  return own?.default ?? own;
}

/** `podyard dev` starts the next program before there is code for it: returns when it is that program's turn. */
function waitAsSpare() {
  if (!process.env.PODYARD_SPARE) return;
  delete process.env.PODYARD_SPARE;
  process.getBuiltinModule?.('node:http'); // which the kit loads with its first request
  if (readSync(0, Buffer.alloc(1)) === 0) process.exit(); // nobody needs it any more
}

waitAsSpare();
const module = await load(resolve(file));
const handler = find(module, name);
if (typeof handler !== 'function') {
  const what = handler === undefined ? 'nothing' : `a value of type ${typeof handler}, which is no function,`;
  const how = name === 'default' ? 'export default async (job) => …' : `export async function ${name}(job) { … }`;
  fail(`${file} exports ${what} as ${name}: write \`${how}\``);
}
await start({
  handler,
  concurrency: find(module, 'concurrency'),
  onSleep: find(module, 'onSleep'),
  onWake: find(module, 'onWake'),
});

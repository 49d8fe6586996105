import { execFileSync, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../options.ts';
import { ENTRIES, type Entry } from './entries.ts';
import { insertResults, type Results, renderResults } from './insert-results.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
const README = fileURLToPath(new URL('../README.md', import.meta.url));
const STORE = '.cache/bench/tables';
const USAGE = `choose from ${ENTRIES.map(({ name }) => name).join(', ')}`;

/**
 * `node bench/main.ts tables`: runs the benchmarks one after another and writes what they print into bench/README.md, each as
 * soon as it has ended. A benchmark that fails leaves its block as it was; the others still run.
 */
export async function benchTables(args: string[]): Promise<void> {
  const values = readOptions(args, {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    stored: { type: 'boolean', default: false },
  });
  const failed: string[] = [];
  for (const entry of chooseEntries(values.only)) {
    try {
      const results = values.stored ? await readStored(entry) : await measure(entry, values.quick);
      await writeFile(README, insertResults(await readFile(README, 'utf8'), entry.name, renderResults(results)));
    } catch (error) {
      failed.push(entry.name);
      process.stderr.write(`${entry.name}: ${(error as Error).message}\n`);
    }
  }
  if (failed.length > 0) throw new Error(`no new results of ${failed.join(', ')}`);
}

function chooseEntries(only: string | undefined): readonly Entry[] {
  if (only === undefined) return ENTRIES;
  return only.split(',').map((name) => {
    const found = ENTRIES.find((entry) => entry.name === name);
    if (!found) throw new Error(`there is no table ${name}: ${USAGE}`);
    return found;
  });
}

/** Runs a benchmark in a process of its own, and keeps what it printed for `--stored`. */
async function measure(entry: Entry, isQuick: boolean): Promise<Results> {
  const args = isQuick ? entry.quick : entry.args;
  const startedAt = new Date();
  process.stderr.write(`${startedAt.toISOString()} ${args.join(' ')}\n`);
  const results: Results = {
    date: startedAt.toISOString().slice(0, 10),
    commit: readCommit(),
    command: `npm run bench -- ${args.join(' ')}`,
    output: await run(args),
  };
  await mkdir(STORE, { recursive: true });
  await writeFile(join(STORE, `${entry.name}.json`), `${JSON.stringify(results, null, 2)}\n`);
  return results;
}

async function readStored({ name }: Entry): Promise<Results> {
  return JSON.parse(await readFile(join(STORE, `${name}.json`), 'utf8')) as Results;
}

async function run(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => resolve(signal ?? code));
  });
  const [output, status] = await Promise.all([text(child.stdout), ended]);
  if (status !== 0) throw new Error(`ended with ${status}`);
  return output;
}

/** The commit that is measured, with a mark if files differ from it. */
function readCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', cwd: import.meta.dirname }).trim();
  const isChanged = git('status', '--porcelain', '--', ':/', ':!/bench/README.md') !== '';
  return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' with changes' : ''}`;
}

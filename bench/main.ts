import { benchApi } from './api/api.ts';
import { benchQueue } from './queue/queue.ts';

/** Each benchmark runs Podyard and its peers in turn and prints a table; see README.md. */
const BENCHMARKS: Record<string, (args: string[]) => Promise<void>> = { api: benchApi, queue: benchQueue };

const [name = '', ...args] = process.argv.slice(2);
const run = BENCHMARKS[name];
if (run) await run(args);
else {
  process.stderr.write(`usage: node bench/main.ts ${Object.keys(BENCHMARKS).join('|')} [options]\n`);
  process.exitCode = 1;
}

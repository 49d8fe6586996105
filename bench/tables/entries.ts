/** One block of results in bench/README.md: what a benchmark prints with these options. */
export interface Entry {
  /** Its markers in the README: `<!-- results: NAME -->` and `<!-- end -->`. */
  name: string;
  /** Arguments of `node bench/main.ts`. */
  args: readonly string[];
  /** Instead of the latter with `--quick`: all of them together take less than 20 minutes on two cores. */
  quick: readonly string[];
}

export const ENTRIES: readonly Entry[] = [
  entry('queue', ['queue', '--parts', 'systems'], ['--rounds', '1', '--seconds', '5']),
  entry('backlog', ['queue', '--parts', 'backlog'], ['--rounds', '1', '--seconds', '4']),
  entry('rest', ['queue', '--parts', 'rest'], []),
  entry('wal', ['queue', '--parts', 'wal'], []),
  entry('payloads', ['queue', '--parts', 'payloads'], []),
  entry('proxy', ['proxy'], ['--parts', 'throughput,latency,bodies', '--rounds', '2', '--seconds', '3']),
  entry('coldstart', ['coldstart'], ['--rounds', '3', '--thaws', '10', '--bursts', '1']),
  entry('scale', ['scale'], ['--sizes', '100,10000', '--seconds', '10']),
  entry('api', ['api'], ['--rounds', '1', '--seconds', '2']),
  entry('batches', ['batches'], ['--rounds', '1', '--requests', '300000', '--pieces', '10']),
  entry('processes', ['cluster', '--parts', 'processes'], ['--rounds', '1', '--seconds', '8']),
  entry('console', ['console'], ['--seconds', '5']),
  entry('deploy', ['deploy'], ['--saves', '15', '--deploys', '5', '--builds', '2']),
  entry('secrets', ['secrets'], ['--rounds', '1', '--starts', '300']),
];

function entry(name: string, args: readonly string[], quick: readonly string[]): Entry {
  return { name, args, quick: [...args, ...quick] };
}

import { lacking } from '../../test/kubernetes/own-cluster.ts';
import { readOptions } from '../options.ts';
import { benchColdPods } from './cold-pods.ts';
import { benchNodes } from './nodes.ts';
import { type ClusterOptions, OPTIONS } from './options.ts';
import { benchProcesses } from './processes.ts';

interface Part {
  run(options: ClusterOptions): Promise<void>;
  /** Needs the tests' cluster. */
  needsCluster: boolean;
}

const PARTS: Record<string, Part> = {
  nodes: { run: benchNodes, needsCluster: true },
  coldstart: { run: benchColdPods, needsCluster: true },
  processes: { run: benchProcesses, needsCluster: false },
};

/** `node bench/main.ts cluster`: see bench/README.md. */
export async function benchCluster(args: string[]): Promise<void> {
  const values = readOptions(args, OPTIONS);
  for (const name of values.parts?.split(',') ?? Object.keys(PARTS)) {
    const part = PARTS[name];
    if (!part) throw new Error(`unknown part '${name}'; choose from ${Object.keys(PARTS).join(', ')}`);
    const lacks = part.needsCluster ? lacking() : undefined;
    if (lacks) process.stdout.write(`cluster, ${name} skipped: ${lacks}\n`);
    else await part.run(values);
  }
}

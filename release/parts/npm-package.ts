import { runProgram } from '../run-program.ts';

/** Packs the npm package, with console and documentation in it, and returns its name. npm gives all files one time of its own. */
export async function writeNpmPackage(out: string, sources: string): Promise<string> {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', out];
  const printed = await runProgram('npm', args, { cwd: sources });
  const packed = JSON.parse(printed) as { filename: string }[] | Record<string, { filename: string }>;
  return Object.values(packed)[0]!.filename;
}

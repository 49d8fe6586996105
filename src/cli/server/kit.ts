import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, type Command } from 'commander';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';

/**
 * The worker kits: their files in the package, and what a copy is called. A copy for JavaScript says by its name that it is a
 * module, so that it runs in any folder, whatever its package.json says.
 */
const KITS = {
  python: { 'podyard_worker.py': 'python/podyard_worker.py' },
  javascript: {
    'podyard-worker.mjs': 'javascript/podyard-worker.js',
    'podyard-worker.d.mts': 'javascript/podyard-worker.d.ts',
  },
} as const;
const WORKERS = new URL('workers/', OWN_PACKAGE);
type Language = keyof typeof KITS;

/** Adds `kit`, which copies a worker kit into the current folder. The same in a checkout and with the package. */
export function addKit(program: Command, pieces: CliOutput): void {
  program
    .command('kit')
    .description('copy the worker kit into this folder, beside your worker')
    .addArgument(new Argument('<language>').choices(Object.keys(KITS)))
    .option('--force', 'replace files that differ')
    .action((language: Language, { force = false }: { force?: boolean }) =>
      copyKit(language, { into: process.cwd(), force, output: pieces }),
    );
}

/** Copies the kit. A file that differs is kept, and the copy fails, unless `force` is set. */
export async function copyKit(
  language: Language,
  { into, force, output }: { into: string; force: boolean; output: CliOutput },
): Promise<void> {
  const copies = await Promise.all(
    Object.entries(KITS[language]).map(async ([name, source]) => ({
      name,
      text: await readFile(new URL(source, WORKERS)),
      old: await readIfThere(join(into, name)),
    })),
  );
  const differing = copies.filter(({ text, old }) => old !== null && !old.equals(text)).map(({ name }) => name);
  if (differing.length > 0 && !force)
    throw new Error(`${differing.join(' and ')} in ${into} differ from the kit's: add --force to replace them`);
  for (const { name, text } of copies) await writeFile(join(into, name), text);
  output.print(copies.map(({ name }) => name).join('\n'));
}

async function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

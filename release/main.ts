/**
 * Makes the artifacts of a release from this checkout: `npm run release -- [--out FOLDER] [--only PART,…] [--arch x64,arm64]
 * [--fresh]`. The same commit gives the same bytes. Needs no network but the package registries, and those only the first time.
 *
 * `--out` is `.cache/release` by default. PART is `archive`; all by default. `--fresh` builds the program anew even if nothing
 * has changed.
 */
import { mkdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CACHE } from './kept-folder.ts';
import { treeEntries, writeArchive } from './parts/archive.ts';
import { builtSources } from './parts/built-sources.ts';
import { ARCHITECTURES, type Architecture } from './parts/production-packages.ts';
import { readReleaseFacts } from './release-facts.ts';

const PARTS = ['archive'] as const;
type Part = (typeof PARTS)[number];

const startedAt = performance.now();
const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: `${CACHE}/release` },
    only: { type: 'string', default: PARTS.join(',') },
    arch: { type: 'string', default: ARCHITECTURES.join(',') },
    fresh: { type: 'boolean', default: false },
  },
});
const out = resolve(options.out);
const parts = choose<Part>('--only', options.only, PARTS);
const architectures = choose<Architecture>('--arch', options.arch, ARCHITECTURES);

const facts = readReleaseFacts();
say(`Podyard ${facts.version} of ${facts.commit} into ${out}`);
await mkdir(out, { recursive: true });
say('building the program, the console and the documentation');
const sources = await builtSources(facts.files, options.fresh);
await Promise.all([...architectures].map(makeForArchitecture));

async function makeForArchitecture(architecture: Architecture): Promise<void> {
  say(`collecting Node.js, PostgreSQL and packages for ${architecture}`);
  const tree = await treeEntries(facts, sources, architecture);
  if (parts.has('archive')) await report(writeArchive(out, facts, tree, architecture));
}

/** Returns the chosen words of a list. Throws if one is not in it. */
function choose<Word extends string>(option: string, list: string, known: readonly Word[]): Set<Word> {
  const chosen = list.split(',') as Word[];
  const unknown = chosen.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new Error(`${option}: '${unknown}' is none of ${known.join(', ')}`);
  return new Set(chosen);
}

async function report(made: Promise<string>): Promise<void> {
  const name = await made;
  const { size } = await stat(`${out}/${name}`);
  say(`${name}, ${(size / 1e6).toFixed(1)} MB`);
}

function say(text: string): void {
  console.log(`release: ${text} (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
}

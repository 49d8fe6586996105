/**
 * Makes the artifacts of a release from this checkout: `npm run release -- [--out FOLDER] [--only PART,…] [--arch x64,arm64]
 * [--fresh]`. The same commit gives the same bytes. Needs no network but the registries of npm and Debian, and those only the
 * first time; and Debian's `dpkg-deb`, for the image.
 *
 * `--out` is `.cache/release` by default, and all parts are made. `--fresh` builds the program anew even if nothing has changed.
 * release/published-names.ts says how a release gets to know where it is published.
 * If PODYARD_RELEASE_KEY names a file with a private Ed25519 key, the checksums are signed with it.
 */
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeDeb } from './deb/deb.ts';
import { signChecksums, writeChecksums } from './finish/checksums.ts';
import { writeReleaseNotes } from './finish/release-notes.ts';
import { type Image, makeImage, writeDockerArchive, writeOciLayout } from './image/image.ts';
import { billOfMaterials } from './inventory/bill-of-materials.ts';
import { CACHE } from './kept-folder.ts';
import { treeEntries, writeArchive } from './parts/archive.ts';
import { builtSources } from './parts/built-sources.ts';
import { writeChart } from './parts/chart.ts';
import { writeCli } from './parts/cli.ts';
import { writeNpmPackage } from './parts/npm-package.ts';
import { ARCHITECTURES, type Architecture, productionPackages } from './parts/production-packages.ts';
import { withPublishedNames } from './published-names.ts';
import { ROOT, readReleaseFacts } from './release-facts.ts';

const PARTS = ['archive', 'deb', 'image', 'npm', 'cli', 'chart', 'compose', 'installer', 'sbom', 'notes'] as const;
type Part = (typeof PARTS)[number];

process.umask(0o022); // npm packs files with the modes that they have
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
const architectures = [...choose<Architecture>('--arch', options.arch, ARCHITECTURES)];
const work = await mkdtemp(join(tmpdir(), 'podyard-release-'));
try {
  await release();
} finally {
  await rm(work, { recursive: true, force: true });
}

async function release(): Promise<void> {
  const facts = readReleaseFacts();
  say(`Podyard ${facts.version} of ${facts.commit} into ${out}`);
  await emptyOut();
  if (parts.has('notes')) await report(writeReleaseNotes(out, facts.version));
  if (parts.has('chart')) await report(writeChart(out, facts));
  if (parts.has('compose')) await report(writeCompose());
  if (parts.has('installer')) await report(writeInstaller());

  say('building the program, the console and the documentation');
  const sources = await builtSources(facts.files, options.fresh);
  if (parts.has('npm')) await report(writeNpmPackage(out, sources));
  if (parts.has('cli')) {
    await report(writeCli(out, work, facts, sources, await productionPackages(architectures[0]!)));
  }

  // One processor after the other: they share the disk, and each compresses on several threads.
  const images: Image[] = [];
  const needsTree = parts.has('archive') || parts.has('deb') || parts.has('image');
  for (const architecture of needsTree ? architectures : []) {
    say(`collecting Node.js, PostgreSQL and packages for ${architecture}`);
    const tree = await treeEntries(facts, sources, architecture);
    const image = parts.has('image') ? makeImage(work, facts, sources, architecture) : null;
    await Promise.all([
      parts.has('archive') && report(writeArchive(out, facts, tree, architecture)),
      parts.has('deb') && report(writeDeb(out, work, facts, tree, architecture)),
      image && report(image.then((made) => writeDockerArchive(out, facts, made))),
    ]);
    if (image) images.push(await image);
  }
  if (parts.has('image')) await report(writeOciLayout(out, facts, images));
  if (parts.has('sbom')) {
    const name = `podyard-${facts.version}.spdx.json`;
    await report(
      billOfMaterials(facts, architectures, true)
        .then((text) => writeFile(`${out}/${name}`, text))
        .then(() => name),
    );
  }
  await writeChecksums(out);
  const key = process.env.PODYARD_RELEASE_KEY;
  if (key) await signChecksums(out, key);
  say(key ? 'SHA256SUMS and its signature' : 'SHA256SUMS, not signed: PODYARD_RELEASE_KEY names no key');
}

/** Removes an older release from the folder. Throws if it has anything else. */
async function emptyOut(): Promise<void> {
  await mkdir(out, { recursive: true });
  const names = await readdir(out);
  const foreign = names.find(
    (name) => !/^(podyard[-_.]|install\.sh$|compose\.yaml$|release-notes\.md$|SHA256SUMS)/.test(name),
  );
  if (foreign !== undefined) {
    throw new Error(`--out: ${out} has ${foreign}, which is of no release: empty the folder, or name another one`);
  }
  for (const name of names) await rm(`${out}/${name}`);
}

async function writeCompose(): Promise<string> {
  const text = await readFile(`${ROOT}/deploy/compose.yaml`, 'utf8');
  await writeFile(`${out}/compose.yaml`, withPublishedNames(text));
  return 'compose.yaml';
}

async function writeInstaller(): Promise<string> {
  await copyFile(`${ROOT}/release/install.sh`, `${out}/install.sh`);
  return 'install.sh';
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

import { billOfMaterials } from '../inventory/bill-of-materials.ts';
import { thirdPartyLicenses } from '../inventory/licenses.ts';
import { type ReleaseFacts, ROOT } from '../release-facts.ts';
import { below, checksumLines, type Entry, fileEntry, textEntry } from '../tree/entry.ts';
import { writeTar } from '../tree/write-tar.ts';
import { appEntries } from './app.ts';
import { type Architecture, productionPackages } from './production-packages.ts';

/** Returns everything that one machine needs, as it lies in `/opt/podyard/<version>`, with the checksums of all other files. */
export async function treeEntries(facts: ReleaseFacts, sources: string, architecture: Architecture): Promise<Entry[]> {
  const packages = await productionPackages(architecture);
  const node = `${packages}/node_modules/node-linux-${architecture}`;
  const entries = [
    fileEntry('bin/podyard', `${ROOT}/release/files/podyard`, true),
    fileEntry('node/bin/node', `${node}/bin/node`, true),
    fileEntry('node/LICENSE', `${node}/LICENSE`),
    ...below('app', await appEntries(facts.files, sources, packages)),
    fileEntry('install.sh', `${ROOT}/release/install.sh`, true),
    fileEntry('podyard.service', `${ROOT}/release/podyard.service`),
    textEntry('VERSION', `${facts.version}\n${facts.commit}\n`),
    fileEntry('LICENSE', `${ROOT}/LICENSE`),
    textEntry('THIRD-PARTY-LICENSES', await thirdPartyLicenses(packages)),
    textEntry('sbom.spdx.json', await billOfMaterials(facts, [architecture], false)),
    fileEntry('README.md', `${ROOT}/release/files/README.md`),
  ];
  return [...entries, textEntry('SHA256SUMS', await checksumLines(entries))];
}

/** Writes `podyard-<version>-linux-<architecture>.tar.gz` and returns its name. */
export async function writeArchive(out: string, facts: ReleaseFacts, tree: Entry[], architecture: Architecture) {
  const name = `podyard-${facts.version}-linux-${architecture}`;
  await writeTar(`${out}/${name}.tar.gz`, below(name, tree), facts.time);
  return `${name}.tar.gz`;
}

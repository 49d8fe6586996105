/** Artifacts of registries, by the OCI image and distribution specifications: a manifest whose layers are files. */
import { createHash } from 'node:crypto';
import { Failure } from '../../core/errors.ts';
import type { OriginModel } from '../../domain/models/model-origins.ts';
import type { ModelReference } from '../../domain/models/model-reference.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import type { Reach } from '../fetch/http-get.ts';
import { readSmallBody } from '../fetch/read-small-body.ts';
import { askOrigin } from './ask-origin.ts';
import { registryAccess, registryUrl } from './file-place.ts';

const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
/** By the distribution specification, which has registries take so much. */
const MAX_MANIFEST_BYTES = 4 * 2 ** 20;
const MAX_FILES = 20_000;
const TITLE = 'org.opencontainers.image.title';

/** Members of a manifest that are read. */
interface Manifest {
  layers?: { digest?: unknown; size?: unknown; annotations?: Record<string, unknown> | null }[];
}

/**
 * Returns the artifact's layers as files, named by their titles, or by their digests where they have none. `secret`: `USER:PASSWORD`; null:
 * anonymous. Throws as `ModelOrigins.read`.
 */
export async function readArtifact(
  reach: Reach,
  { registry, repository, tag, digest }: Extract<ModelReference, { source: 'OCI' }>,
  secret: string | null,
): Promise<OriginModel> {
  const name = `oci://${registry}/${repository}`;
  const asked = digest === null ? `${name}:${tag}` : `${name}@${digest}`;
  const url = registryUrl(name, `manifests/${digest ?? tag}`);
  const headers = { accept: MANIFESTS.join(', ') };
  const access = registryAccess(secret);
  return askOrigin(
    reach,
    { url, access, method: 'GET', headers, name: asked, hasSecret: secret !== null },
    async (response) => {
      const text = await readSmallBody(response, MAX_MANIFEST_BYTES);
      const commit = `sha256:${createHash('sha256').update(text).digest('hex')}`;
      if (digest !== null && commit !== digest)
        throw new Failure('unavailable', `${url.host} sends a manifest of ${asked} that differs from its digest`);
      return { source: 'OCI', name, commit, files: filesOf(text, asked, url.host), task: null };
    },
  );
}

function filesOf(text: string, asked: string, host: string): PinnedFile[] {
  const strange = (what: string) => new Failure('badRequest', `${asked} cannot be a model: ${what}`);
  let manifest: Manifest | null;
  try {
    manifest = JSON.parse(text) as Manifest | null;
  } catch {
    throw new Failure('unavailable', `${host} does not answer as a registry: its manifest is not JSON`);
  }
  const layers = manifest?.layers;
  if (!Array.isArray(layers)) throw strange('it has no layers; of an index, name one of its manifests by its digest');
  if (layers.length > MAX_FILES) throw strange(`it has more than ${MAX_FILES} files`);
  const files = layers.map((layer): PinnedFile => {
    const { digest, size, annotations } = layer ?? {};
    if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest)) throw strange('a layer has no SHA-256');
    if (!Number.isSafeInteger(size) || (size as number) < 0) throw strange('a layer has no size');
    const path = annotations?.[TITLE] ?? digest.replace(':', '-');
    const isInside = typeof path === 'string' && path.split('/').every((part) => !['', '.', '..'].includes(part));
    if (!isInside || /[\p{Cc}\\]/u.test(path)) throw strange('the title of a layer is not a path inside it');
    return { path, size: size as number, digest: digest as PinnedFile['digest'] };
  });
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const twice = files.find(({ path }, i) => files[i + 1]?.path === path);
  if (twice) throw strange(`two of its layers are called '${twice.path}'`);
  return files;
}

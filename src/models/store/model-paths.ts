/** Names of files and folders that follow from what a release pins. What a workload or a hub says never becomes a path unchecked. */
import { posix } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { type ObjectName, parseObjectName } from '../../domain/models/object-name.ts';
import type { PinnedFile, PinnedModel } from '../../domain/models/pinned-model.ts';

/** Where workloads find the hub's cache, with or without a network volume at /runpod-volume. */
export const HUB_PATH = '/runpod-volume/huggingface-cache/hub';
/** The folder of the pull-through hub in that of the store. */
export const HUB_FOLDER = 'hub';
/** Where the public SDK looks for `{model}/{revision}`; files from elsewhere are in `https/`, `s3/` and `oci/`. */
export const CACHE_PATH = '/runpod/cache';

const SEGMENT = /^[^\0\\/]+$/;
const HUB_NAME = /^[\w.-]+(?:\/[\w.-]+)?$/;
const ARTIFACT = /^oci:\/\/[A-Za-z0-9.:[\]-]+(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+$/;
const COMMIT = /^[0-9a-f]{40,64}$/;
const DIGEST = /^(?:sha256:[0-9a-f]{64}|git:[0-9a-f]{40})$/;

/** Throws unless every name of the model can be a path below its own folder. */
export function checkNames(model: PinnedModel): void {
  const { source, name, commit, files } = model;
  const fault =
    (source === 'HUB' && (!HUB_NAME.test(name) || !isRelative(name)) && `'${name}' is no name of a repository`) ||
    (source === 'HUB' && !COMMIT.test(commit) && `'${commit}' is no commit`) ||
    (source === 'HTTPS' && !URL.canParse(name) && `'${name}' is no URL`) ||
    (source === 'S3' && 'fault' in parseObjectName(name) && `'${name}' is no object`) ||
    (source === 'OCI' && !ARTIFACT.test(name) && `'${name}' is no artifact`) ||
    files.map(({ path }) => !isRelative(path) && `'${path}' is no path of a file`).find(Boolean) ||
    files.map(({ digest }) => !DIGEST.test(digest) && `'${digest}' is no digest`).find(Boolean);
  if (fault) throw new Failure('unprocessable', `the model '${name}' cannot be stored: ${fault}`);
}

/** True for names joined by `/`, none of them `.` or `..`. */
export function isRelative(path: string): boolean {
  return path.split('/').every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
}

/** The folder of a repository in the hub's cache. */
export function hubFolder(name: string): string {
  return `models--${name.split('/').join('--')}`;
}

/** Where the files of a model that is not a repository of a hub are, below the cache. */
export function fileFolder({ source, name }: Pick<PinnedModel, 'source' | 'name'>): string {
  if (source === 'OCI') return name.replace('oci://', 'oci/').replaceAll(/[:[\]]/g, '_');
  if (source === 'S3') {
    const object = parseObjectName(name) as ObjectName; // checked by `checkNames`
    const host = object.endpoint === null ? [] : [folderOf(new URL(object.endpoint).host)];
    return posix.join('s3', ...host, object.bucket, posix.dirname(object.key));
  }
  const { host, pathname } = new URL(name);
  return posix.join('https', folderOf(host), posix.dirname(posix.normalize(pathname)));
}

function folderOf(host: string): string {
  return host.replaceAll(/[:[\]]/g, '_');
}

/** The name of a file's content in the store. */
export function blobName({ digest }: Pick<PinnedFile, 'digest'>): string {
  return digest.replace(':', '-');
}

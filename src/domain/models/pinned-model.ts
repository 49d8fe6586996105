/** Models as releases name them: resolved, so that every machine fetches the same bytes. */

/** Where models come from: a hub's repository, a file by URL, an object of an S3 bucket, an artifact in a registry. */
export const MODEL_SOURCES = ['HUB', 'HTTPS', 'S3', 'OCI'] as const;
type ModelSource = (typeof MODEL_SOURCES)[number];

/** A file of a model. */
export interface PinnedFile {
  /** Relative to the model's folder, with `/`. */
  path: string;
  /** In bytes. */
  size: number;
  /** The origin's digest of its content: SHA-256, or Git's SHA-1 of a blob for a hub's small files. */
  digest: `sha256:${string}` | `git:${string}`;
}

/** Bytes that a machine fetches once. Everything that a workload sees of a model follows from it. */
export interface PinnedModel {
  /** SHA-256 of the other fields, in hex: the same for every user. */
  id: string;
  source: ModelSource;
  /** `ORG/NAME` of a hub's repository, a URL without a query, `s3://…` of an object, or `oci://registry/repository`. */
  name: string;
  /** A hub's commit; the digest of the file, or of the artifact's manifest, elsewhere. */
  commit: string;
  /** The files that the patterns chose, by path. */
  files: readonly PinnedFile[];
}

/** A model as an item of `ReleaseSpec.models`: which one, and how the owner asked for it. */
export interface ModelUse extends Pick<PinnedModel, 'id' | 'source' | 'name' | 'commit'> {
  /** Patterns of the files that it has; absent: all of them. */
  include?: readonly string[];
  /** Patterns of the files that it lacks; absent: none. */
  exclude?: readonly string[];
  /** A branch, a tag or a commit; null where the source has none. */
  revision: string | null;
  /** Bytes of all its files. */
  bytes: number;
  /** The owner's secret that holds the origin's token; null: none is needed. */
  tokenSecret: string | null;
}

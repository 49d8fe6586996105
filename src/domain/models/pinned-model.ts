/** Models as a release names them: resolved, so that every machine fetches the same bytes. */

/** Where models come from: a hub's repository, a file by URL, objects of an S3 bucket, an artifact in a registry. */
export const MODEL_SOURCES = ['HUB', 'HTTPS', 'S3', 'OCI'] as const;
export type ModelSource = (typeof MODEL_SOURCES)[number];

/** A file of a model. */
export interface PinnedFile {
  /** Relative to the model's folder, with `/`. */
  path: string;
  /** In bytes. */
  size: number;
  /** What the origin says of its content: SHA-256, or Git's SHA-1 of a blob for a hub's small files. */
  digest: `sha256:${string}` | `git:${string}`;
}

/** A model that a release uses. What a workload sees of it depends on nothing else. */
export interface PinnedModel {
  source: ModelSource;
  /** `ORG/NAME` of a hub's repository; otherwise the URL without a query. */
  name: string;
  /** What the user asked for: a branch, a tag or a commit. Null where there is none. */
  revision: string | null;
  /** A hub's commit; the digest of the file, the manifest or the list of objects elsewhere. */
  commit: string;
  /** Of the files that the patterns chose, by path. */
  files: readonly PinnedFile[];
  /** The secret of the endpoint's owner that the origin's token is in. Null: none is needed. */
  tokenSecret: string | null;
}

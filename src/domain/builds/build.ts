import type { BuildId, EndpointId, UserId } from '../../core/ids.ts';

/** Ended ones are the last three. docs/states.md, "Build". */
export const BUILD_STATUSES = ['QUEUED', 'BUILDING', 'PUSHING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type BuildStatus = (typeof BUILD_STATUSES)[number];

export interface BuildStep {
  name: string;
  status: 'RUNNING' | 'COMPLETED' | 'CACHED' | 'FAILED';
  startedAt: Date;
  endedAt: Date | null;
}

/** A commit that was built, as the repository describes it. */
export interface GitCommit {
  /** URL of the repository, without credentials. */
  url: string;
  commit: string;
  /** `refs/heads/main`, for instance. */
  ref: string;
  author: string;
  /** The first line. */
  message: string;
}

/** One run of a recipe over a folder. */
export interface Build {
  id: BuildId;
  userId: UserId;
  name: string;
  status: BuildStatus;
  /** Null: there is none, or it was removed. */
  image: string | null;
  /** The image's digest: `sha256:` and 64 hexadecimal digits. */
  digest: string | null;
  sizeBytes: number | null;
  /** Why it failed or was cancelled, or what it waits for. */
  reason: string | null;
  /** The name of the step that failed. */
  failedStep: string | null;
  /** In the order in which they began. */
  steps: BuildStep[];
  source: 'UPLOAD' | 'GIT';
  /** Null: its folder was uploaded. */
  git: GitCommit | null;
  /** The endpoint that took the image last. */
  endpointId: EndpointId | null;
  retryOf: BuildId | null;
  /** Hash of the content that is built, in hexadecimal (content-hash.ts). */
  contentHash: string;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
}

/** A file of the folder, by its content, or a symbolic link. Paths are relative to the folder, with slashes. */
export type FolderEntry = { path: string; digest: string; size: number; mode: number } | { path: string; link: string };

/** A line that a build printed. Lines of a build are numbered from 1 on, without gaps. */
export interface BuildLine {
  number: number;
  at: Date;
  /** The step that printed it, by its name. */
  step: string | null;
  stream: 'stdout' | 'stderr' | 'system';
  text: string;
}

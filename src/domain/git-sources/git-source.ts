import type { BuildId, EndpointId, GitSourceId } from '../../core/ids.ts';
import type { RecipeWishes } from '../builds/folder-listing.ts';
import type { EndpointChange } from '../endpoints/update-endpoint.ts';
import type { FloorSchedule } from '../scheduled-floors/scheduled-floors.ts';
import type { StatusApi } from './commit-status.ts';

/** How the folder becomes an image: `build` of podyard.yaml. What is absent is detected. */
export interface GitBuildOptions extends Omit<RecipeWishes, 'serves' | 'secretIds' | 'command' | 'systemPackages'> {
  command?: string[];
  systemPackages?: string[];
  /** Values of the Dockerfile's ARGs. */
  args?: Record<string, string>;
  /** Names of secrets, by the id under which a step mounts each. */
  secrets?: Record<string, string>;
  /** Ids of registries whose credentials pull images, by the host with which those begin. */
  registries?: Record<string, string>;
}

/** The part of a repository that is built for an endpoint. One of `branch` and `tags` is null. */
export interface GitTarget {
  /** `https://…`, `http://…` or `ssh://…`, without credentials. */
  url: string;
  branch: string | null;
  /** A pattern with `*`: the highest version that matches is built. */
  tags: string | null;
  /** In the repository, without a slash at either end. Empty: all of it. */
  folder: string;
  build: GitBuildOptions;
  /** True: the settings in podyard.yaml of a commit are applied with its image. */
  applySettings: boolean;
}

/** Settings that an endpoint takes together with a commit's image. */
export interface GitSettings {
  change: Omit<EndpointChange, 'image' | 'template'>;
  schedule: FloorSchedule | null;
}

/** `secret`: the name of a secret of the account; null: it was deleted. */
export type GitAuth =
  | { type: 'NONE' }
  | { type: 'TOKEN'; secret: string | null }
  | { type: 'DEPLOY_KEY'; publicKey: string };

/** The repository that an endpoint's image is built from. */
export interface GitSource extends GitTarget {
  id: GitSourceId;
  endpointId: EndpointId;
  auth: GitAuth;
  /** Null: only when a webhook or a client asks. */
  pollSeconds: number | null;
  /** The API that receives the state of its builds. */
  statuses: StatusApi;
  /** Why the last status was not posted. */
  statusError: string | null;
  /** A look was asked for, and has not ended. */
  isLooking: boolean;
  lastCommit: string | null;
  lastRef: string | null;
  lastError: string | null;
  lastLookedAt: Date | null;
  /** The newest build of it. */
  lastBuildId: BuildId | null;
  createdAt: Date;
}

export const MIN_POLL_SECONDS = 60;
export const MAX_POLL_SECONDS = 604_800;
export const MAX_URL_LENGTH = 1_000;
/** Names that git allows, without those that are a pattern or an option to it. */
export const BRANCH = /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\/\.|\.lock(?:\/|$)))[^\s~^:?*[\\\p{Cc}]+(?<![/.])$/u;
export const TAG_PATTERN = /^(?![-/.])(?!.*\.\.)[A-Za-z0-9._/+*@-]+$/;
export const MAX_REF_LENGTH = 200;
/** Prefix of the webhook's secret, for people and secret scanners. */
export const WEBHOOK_SECRET_PREFIX = 'pyhook';

/** Returns whether a pattern names a tag: `*` stands for any characters. */
export function matchesTag(pattern: string, tag: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return tag === pattern;
  if (!tag.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = tag.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return tag.length - last.length >= at && tag.endsWith(last);
}

/** Returns a commit as a release and a list name it. */
export function commitText({ commit, author, message }: { commit: string; author: string; message: string }): string {
  return `${commit.slice(0, 7)} ${message} (${author})`;
}

/**
 * Statuses of commits as the APIs of git hosts take them: GitHub (`POST /repos/{owner}/{repo}/statuses/{sha}`), GitLab
 * (`POST /projects/{id}/statuses/{sha}`) and Gitea, with Forgejo, whose API is that of Gitea.
 */
import type { GitCommit } from '../builds/build.ts';

export const STATUS_APIS = ['NONE', 'GITHUB', 'GITLAB', 'GITEA'] as const;
/** Whose API the repository's host has; NONE: no status is posted. */
export type StatusApi = (typeof STATUS_APIS)[number];

/** The state of a build as shown beside its commit. */
export type CommitState = 'PENDING' | 'SUCCESS' | 'FAILURE' | 'CANCELLED';

const KNOWN_HOSTS: Readonly<Record<string, StatusApi>> = {
  'github.com': 'GITHUB',
  'gitlab.com': 'GITLAB',
  'codeberg.org': 'GITEA',
  'gitea.com': 'GITEA',
};

/** Without the build's output: everyone with access to the repository reads this, while the output needs access to the build. */
const DESCRIPTIONS: Readonly<Record<CommitState, string>> = {
  PENDING: 'The image is being built',
  SUCCESS: 'The image is built',
  FAILURE: 'The build failed: its page says why',
  CANCELLED: 'The build was cancelled',
};

/** Returns the API of a host that everybody knows; NONE for another one. */
export function apiOfHost(host: string): StatusApi {
  return KNOWN_HOSTS[host.toLowerCase()] ?? 'NONE';
}

/** Returns whether a repository's URL has the path that an API needs. */
export function hasStatusPath(url: string): boolean {
  return pathOf(url).length >= 2;
}

export interface StatusRequest {
  url: string;
  headers: Record<string, string>;
  body: object;
}

/** `page`: of the build; null: the server does not know its own URL. */
export interface CommitStatus {
  state: CommitState;
  endpointName: string;
  page: string | null;
}

/** Returns the request that reports the state of a commit's build to its host. `git.url`: one that `hasStatusPath`. */
export function statusRequest(
  api: Exclude<StatusApi, 'NONE'>,
  { url, commit, ref }: Pick<GitCommit, 'url' | 'commit' | 'ref'>,
  { state, endpointName, page }: CommitStatus,
  token: string,
): StatusRequest {
  const { origin, host } = new URL(url);
  const path = pathOf(url);
  const [owner, repository] = path.slice(-2).map(encodeURIComponent);
  const common = {
    context: `podyard/${endpointName}`,
    description: DESCRIPTIONS[state],
    ...(page !== null && { target_url: page }),
  };
  if (api === 'GITLAB') {
    const words = { PENDING: 'pending', SUCCESS: 'success', FAILURE: 'failed', CANCELLED: 'canceled' } as const;
    return {
      url: `${origin}/api/v4/projects/${encodeURIComponent(path.join('/'))}/statuses/${commit}`,
      headers: { 'private-token': token },
      body: { ...common, state: words[state], ref: ref.replace(/^refs\/(?:heads|tags)\//, '') },
    };
  }
  const words = { PENDING: 'pending', SUCCESS: 'success', FAILURE: 'failure', CANCELLED: 'error' } as const;
  const body = { ...common, state: words[state] };
  if (api === 'GITEA') {
    const below = path.slice(0, -2).map((name) => `/${encodeURIComponent(name)}`);
    return {
      url: `${origin}${below.join('')}/api/v1/repos/${owner}/${repository}/statuses/${commit}`,
      headers: { authorization: `token ${token}` },
      body,
    };
  }
  const base = host === 'github.com' ? 'https://api.github.com' : `${origin}/api/v3`;
  return {
    url: `${base}/repos/${owner}/${repository}/statuses/${commit}`,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
    },
    body,
  };
}

/** Returns the names in a repository's path, the last without `.git`. */
function pathOf(url: string): string[] {
  const names = new URL(url).pathname.split('/').filter((name) => name !== '');
  return names.map((name, i) => decoded(i === names.length - 1 ? name.replace(/\.git$/, '') : name));
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

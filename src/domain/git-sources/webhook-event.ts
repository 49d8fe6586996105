/**
 * Reads webhooks of git hosts and checks that they are genuine: GitHub, Gitea (and Forgejo, which sends the same) and GitLab. The body only
 * proves that something happened: the commit is read from the repository.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type GitTarget, matchesTag } from './git-source.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** `look`: the repository may have something new. `ignored`: a sentence that says why it is not looked at. */
export type EventDecision = { look: true } | { look: false; ignored: string };

/** Returns whether a request has any of the headers that prove a webhook, so that its body is worth reading. */
export function hasProof(headers: Headers): boolean {
  return ['x-hub-signature-256', 'x-gitea-signature', 'x-gitlab-token'].some((name) => headers[name] !== undefined);
}

/** True if the sender knows the secret: it signed the body, or (GitLab) sent the secret itself. In constant time. */
export function isGenuine(headers: Headers, body: Buffer, secret: string): boolean {
  const token = headers['x-gitlab-token'];
  if (typeof token === 'string') return isSame(token, secret);
  const signature = headers['x-hub-signature-256'] ?? headers['x-gitea-signature'];
  if (typeof signature !== 'string') return false;
  return isSame(signature.replace(/^sha256=/, ''), createHmac('sha256', secret).update(body).digest('hex'));
}

/** Compares digests of the two, which have the same length whatever was sent. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'podyard').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** Decides whether an event of a genuine webhook concerns what a source builds. `body`: parsed JSON, of any shape. */
export function decideEvent(
  headers: Headers,
  body: unknown,
  target: Pick<GitTarget, 'branch' | 'tags'>,
): EventDecision {
  const event = eventOf(headers);
  if (event === 'ping') return { look: false, ignored: 'The webhook works.' };
  const payload = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (event === 'release') return decideRef(`refs/tags/${releaseTag(payload)}`, target);
  if (event !== 'push')
    return { look: false, ignored: `Events of the kind '${event}' are ignored: only pushes count.` };
  const { ref, deleted, after } = payload;
  if (typeof ref !== 'string') return { look: false, ignored: 'The push names no ref.' };
  if (deleted === true || /^0+$/.test(String(after))) return { look: false, ignored: `${shown(ref)} was deleted.` };
  return decideRef(ref, target);
}

function eventOf(headers: Headers): string {
  const name = headers['x-github-event'] ?? headers['x-gitea-event'] ?? headers['x-gitlab-event'];
  const words: Record<string, string> = { 'push hook': 'push', 'tag push hook': 'push', 'release hook': 'release' };
  const text = String(name ?? 'unknown').toLowerCase();
  return words[text] ?? shown(text);
}

/** GitHub and Gitea describe the release in a member, GitLab names its tag at the top. */
function releaseTag({ release, tag }: Record<string, unknown>): unknown {
  return tag ?? (release as Record<string, unknown> | null | undefined)?.tag_name;
}

function decideRef(ref: string, { branch, tags }: Pick<GitTarget, 'branch' | 'tags'>): EventDecision {
  const wanted = branch === null ? `tags that match '${tags}'` : `the branch '${branch}'`;
  const tag = ref.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : null;
  const isWanted = branch === null ? tag !== null && matchesTag(tags!, tag) : ref === `refs/heads/${branch}`;
  return isWanted ? { look: true } : { look: false, ignored: `${shown(ref)} is ignored: only ${wanted} counts.` };
}

/** Short, and without what a terminal would obey. */
function shown(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '�').slice(0, 200);
}

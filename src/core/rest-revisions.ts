/** The revisions of the REST interface, oldest first (docs/interface/revision-2026-08.md). */
export const REST_REVISIONS = ['2026-07', '2026-08'] as const;
export type RestRevision = (typeof REST_REVISIONS)[number];

/** Names the revision that a path without one speaks to this request, whatever the key and the server are set to. */
export const REVISION_HEADER = 'podyard-revision';

const PREFIX = /^\/(\d{4}-\d\d)(?=[/?]|$)/;

/** Returns the revision that a URL names in front of its path (`/2026-08/v2/…`): a known one, another, or null for none. */
export function revisionIn(url: string): string | null {
  const first = url.charCodeAt(1);
  if (first < 0x30 || first > 0x39) return null; // every path of ours begins with a letter
  return PREFIX.exec(url)?.[1] ?? null;
}

/** Returns the known revision that a URL names; null for none, and for one that does not exist. */
export function knownRevisionIn(url: string): RestRevision | null {
  const revision = revisionIn(url);
  return revision !== null && isRestRevision(revision) ? revision : null;
}

/** Returns the URL without the known revision in front of its path. */
export function withoutRevision(url: string): string {
  const revision = knownRevisionIn(url);
  if (revision === null) return url;
  const rest = url.slice(revision.length + 1);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Returns the revisions in words, for messages. */
export function listRevisions(): string {
  return REST_REVISIONS.map((name) => `'${name}'`).join(' and ');
}

export function isRestRevision(text: string): text is RestRevision {
  return (REST_REVISIONS as readonly string[]).includes(text);
}

import type { Endpoint } from '../records/kinds.ts';

/** Returns an endpoint's URL and a call to copy. */
export function callText({ id, requestUrls }: Pick<Endpoint, 'id' | 'requestUrls'>): string {
  const key = '-H "Authorization: Bearer $PODYARD_API_KEY"';
  if ('base' in requestUrls) return `${requestUrls.base}  (${id})\n\n  curl ${requestUrls.base} ${key}`;
  const input = `-H 'Content-Type: application/json' -d '{"input": {}}'`;
  return `${requestUrls.runSync}  (${id})\n\n  curl ${requestUrls.runSync} ${key} \\\n    ${input}`;
}

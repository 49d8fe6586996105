interface Described {
  paths?: object | undefined;
  components?: { responses?: object } | undefined;
}
interface Response {
  description: string;
  content?: Record<string, unknown>;
}

/**
 * Moves error responses that several operations declare to `components.responses`, named after their description, and refers to
 * them there: written out, they are three fifths of a description. Where two responses of one description differ, the one
 * that more operations declare is shared.
 */
export function shareResponses(document: Described): void {
  const places = new Map<string, { declared: Record<string, object>; status: string }[]>();
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values<{ responses?: Record<string, object> }>(path)) {
      for (const [status, response] of Object.entries(operation.responses ?? {})) {
        if (status.startsWith('2')) continue;
        const text = JSON.stringify(response);
        places.set(text, [...(places.get(text) ?? []), { declared: operation.responses!, status }]);
      }
    }
  }
  const shared: Record<string, Response> = {};
  for (const [text, found] of [...places].sort(([, a], [, b]) => b.length - a.length)) {
    const response = JSON.parse(text) as Response;
    const name = nameOf(response);
    if (found.length === 1 || name in shared) continue;
    shared[name] = response;
    for (const { declared, status } of found) declared[status] = { $ref: `#/components/responses/${name}` };
  }
  document.components = { ...document.components, responses: shared };
}

/** `Any other error.` → `AnyOtherError`. */
function nameOf({ description }: Response): string {
  const words = description.split(/[^A-Za-z]/);
  return words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
}

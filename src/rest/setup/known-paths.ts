import { Failure } from '../../core/errors.ts';
import type { RestApp } from '../shared/rest-app.ts';

/** The router takes no longer value of a `:name`; it takes an empty one. */
export const MAX_VALUE_LENGTH = 500;

interface KnownPath {
  url: string;
  segments: readonly string[];
  methods: string[];
}

/**
 * The paths of an app and their methods. A request that no route takes is looked up here: routes that refuse the 30 other methods
 * of each path would take 7 MB.
 */
export class KnownPaths {
  readonly #paths = new Map<string, KnownPath>();
  /** Those whose names are constant first: `/v2/pods/live` is not a pod. */
  #sorted: KnownPath[] | undefined;

  add(url: string, methods: readonly string[]): void {
    const known = this.#paths.get(url) ?? { url, segments: url.split('/'), methods: [] };
    known.methods.push(...methods);
    this.#paths.set(url, known);
    this.#sorted = undefined;
  }

  /** Throws `methodNotAllowed` for a path that exists, and calls `tellAllowed` with its methods. */
  refuseMethod(url: string, tellAllowed: (methods: string) => void): void {
    const known = this.#find(url.split(/[?#]/, 1)[0]!);
    if (known === undefined) return;
    tellAllowed(known.methods.toSorted().join(', '));
    throw new Failure('methodNotAllowed', 'method not allowed');
  }

  /** Routes the methods that paths lack, but others that match them have: a DELETE of `/v2/pods/live` deletes no pod. */
  shadow(app: RestApp): void {
    const paths = [...this.#paths.values()];
    for (const { url, segments, methods } of paths) {
      const others = paths.filter((other) => other.url !== url && matches(other.segments, segments));
      const method = [...new Set(others.flatMap((other) => other.methods))].filter((each) => !methods.includes(each));
      if (method.length === 0 || segments.some(isName)) continue;
      const handler = async () => {}; // it has been refused
      app.route({ method, url, schema: { hide: true }, config: { permission: 'none' }, handler });
    }
  }

  #find(path: string): KnownPath | undefined {
    this.#sorted ??= [...this.#paths.values()].toSorted((a, b) => countNames(a.segments) - countNames(b.segments));
    const segments = path.split('/').map(decoded);
    return this.#sorted.find((known) => matches(known.segments, segments));
  }
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*';
  if (isOpen ? segments.length < pattern.length : segments.length !== pattern.length) return false;
  return pattern.every(
    (part, i) => part === '*' || part === segments[i] || (isName(part) && segments[i]!.length <= MAX_VALUE_LENGTH),
  );
}

function isName(part: string): boolean {
  return part.startsWith(':');
}

function countNames(segments: readonly string[]): number {
  return segments.filter(isName).length;
}

/** The router refuses what cannot be decoded. */
function decoded(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment;
}

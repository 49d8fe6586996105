import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../core/errors.ts';
import { Type } from '../shared/type.ts';

/**
 * Clients send back the record that they read, as a whole: docs/interface/rest-v1.md, "Records that are sent back".
 */

/** Members of a record that a request may repeat although they are not settings. */
export function repeated<const N extends string>(names: readonly N[]) {
  const member = Type.Optional(Type.Unsafe<unknown>({ readOnly: true, description: 'As in the record.' }));
  return Object.fromEntries(names.map((name) => [name, member])) as Record<N, typeof member>;
}

/** Returns what a body changes: its members that differ from the record, without `shown`. Throws `badRequest` for one of `fixed`. */
export function changedMembers<B extends object>(
  body: B,
  record: object,
  { fixed, shown }: { fixed: readonly string[]; shown: readonly string[] },
): Partial<B> {
  const before = record as Record<string, unknown>;
  const changed = Object.entries(body).filter(([name, value]) => !isDeepStrictEqual(value, before[name]));
  const refused = changed.find(([name]) => fixed.includes(name));
  if (refused) throw new Failure('badRequest', `${refused[0]}: cannot be changed; send it as it is, or leave it out`);
  return Object.fromEntries(changed.filter(([name]) => !shown.includes(name))) as Partial<B>;
}

/** Returns the mount path of a create; empty, as in the record of what has no mount: the default. */
export function givenPath(path: string | undefined): string | undefined {
  return path === '' ? undefined : path;
}

/** Throws `badRequest` for a change to the empty path. */
export function checkPath(path: string | undefined): void {
  if (path === '') throw new Failure('badRequest', "volumeMountPath: must begin with '/'");
}

/** Throws `badRequest` for 0, which only the record of the other kind of hardware has. */
export function checkCount(count: number | undefined, name: string): void {
  if (count === 0) throw new Failure('badRequest', `${name}: must be at least 1`);
}

import type { Actor, Admin } from '../access/actor.ts';

/**
 * Who acts: a person with a session of the console, a key, Podyard itself on what a user owns, or the operator's tools, which have no
 * key. Unknown: the key does not exist.
 */
export const ACTOR_KINDS = ['session', 'key', 'system', 'operator', 'unknown'] as const;
type ActorKind = (typeof ACTOR_KINDS)[number];

/** `done`: it was committed. `refused`: with the reason, and nothing changed. `failed`: through a fault that is not the caller's. */
export const OUTCOMES = ['done', 'refused', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Changes by field: the value before and after; null where there was none. Hidden values are `HIDDEN`. */
export type AuditChanges = Record<string, [before: unknown, after: unknown]>;

/** An entry as it is written. The database adds its number and its time. */
export interface NewEntry {
  operation: string;
  recordId: string | null;
  recordName: string | null;
  /** Whose record it is. Null: the installation's. */
  ownerId: string | null;
  actorKind: ActorKind;
  /** The person, or the user whose key it was. Null: the operator's tools. */
  actorId: string | null;
  keyId: string | null;
  sessionId: string | null;
  interface: string;
  address: string | null;
  requestId: string | null;
  outcome: Outcome;
  reason: string | null;
  /** Number of refusals of the same kind that the entry stands for. */
  repeats: number;
  changes: AuditChanges | null;
}

export type Author = Pick<
  NewEntry,
  'actorKind' | 'actorId' | 'keyId' | 'sessionId' | 'interface' | 'address' | 'requestId'
>;

/** Returns the author of a change, and the address they used. Null: the operator's tools, which run beside the database. */
export function authorOf(actor: Admin): Author {
  const nowhere = { keyId: null, sessionId: null, address: null, requestId: null };
  if (actor === null) return { ...nowhere, actorKind: 'operator', actorId: null, interface: 'tools' };
  const actorId = actor.personId ?? actor.userId;
  const kind = kindOf(actor);
  // A sign-in's user is known only once it ends.
  if (kind === 'system') return { ...nowhere, interface: 'control', ...actor.origin, actorKind: kind, actorId: null };
  return {
    actorKind: kind,
    actorId,
    keyId: actor.keyId === '' ? null : actor.keyId,
    sessionId: actor.sessionId ?? null,
    interface: actor.origin?.interface ?? 'api',
    address: actor.origin?.address ?? null,
    requestId: actor.origin?.requestId ?? null,
  };
}

/** `systemActor` has neither a key nor a session. */
function kindOf({ sessionId, keyId }: Actor): ActorKind {
  if (sessionId !== undefined) return 'session';
  return keyId === '' ? 'system' : 'key';
}

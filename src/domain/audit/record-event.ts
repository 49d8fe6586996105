import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { type AuditChanges, authorOf, type Outcome } from './audit-entry.ts';
import { insertEntry } from './insert-entry.ts';

/** An event that is not an operation: a sign-in, a budget that is used up, old entries that were removed. */
export interface AuditEvent {
  /** `<record>.<verb>`, fixed for good. */
  operation: `${string}.${string}`;
  recordId?: string | null;
  recordName?: string | null;
  /** Whose record it is. By default the actor's; null: the installation's. */
  ownerId?: string | null;
  /** `done` by default. */
  outcome?: Outcome;
  reason?: string | null;
  changes?: AuditChanges | null;
  /** Where the client is, if the actor does not say it: of a sign-in that failed, which has no actor. */
  address?: string | null;
  interface?: string;
  requestId?: string | null;
}

/**
 * Writes an event to the audit log, in the transaction of `db` if that is one. Never pass a secret, a token or a payload: what is given is stored
 * as it is. Callers that unauthenticated requests can trigger must bound how often (`RefusalLog`).
 */
export async function recordEvent(db: Db, actor: Admin, event: AuditEvent): Promise<void> {
  const author = authorOf(actor);
  await insertEntry(db, {
    ...author,
    interface: event.interface ?? author.interface,
    address: event.address ?? author.address,
    requestId: event.requestId ?? author.requestId,
    operation: event.operation,
    recordId: event.recordId ?? null,
    recordName: event.recordName ?? null,
    ownerId: event.ownerId === undefined ? (actor?.userId ?? null) : event.ownerId,
    outcome: event.outcome ?? 'done',
    reason: event.reason ?? null,
    repeats: 1,
    changes: event.changes ?? null,
  });
}

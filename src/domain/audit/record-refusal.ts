import { FAILURES, Failure, messageOf } from '../../core/errors.ts';
import type { Admin } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { authorOf, type NewEntry } from './audit-entry.ts';
import { insertEntry } from './insert-entry.ts';

const MAX_REASON = 500;
const FAULT = 500;

/** A refused request, and why it was refused. */
export interface Refused {
  operation: string;
  recordId: string | null;
  /** The request, where no operation was reached. */
  what?: string;
  error: unknown;
}

const recorded = new WeakSet<object>();

/**
 * Writes that an operation was refused or failed, beside the transaction that was rolled back. Never throws: the caller throws the refusal
 * itself. Once for each error, wherever it passes. What Podyard refuses itself is in its log alone, because its loops try again.
 */
export async function recordRefusal(context: Context, actor: Admin, refused: Refused): Promise<void> {
  const author = authorOf(actor);
  const { error } = refused;
  if (author.actorKind === 'system' || !(error instanceof Error) || recorded.has(error)) return;
  recorded.add(error);
  const entry: NewEntry = {
    ...author,
    operation: refused.operation,
    recordId: refused.recordId,
    recordName: null,
    ownerId: actor?.userId ?? null,
    outcome: isRefusal(error) ? 'refused' : 'failed',
    reason: reasonOf(refused),
    repeats: 1,
    changes: null,
  };
  try {
    if (context.refusals) await context.refusals.add(entry);
    else await insertEntry(context.pool, entry);
  } catch (err) {
    context.logger?.debug({ operation: refused.operation, err }, 'a refusal is not in the audit log');
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof Failure && FAILURES[error.kind].status < FAULT;
}

/** The public text alone: a cause may hold anything. */
function reasonOf({ error, what }: Refused): string {
  if (!(error instanceof Failure)) return 'internal error';
  return `${error.kind}: ${what === undefined ? '' : `${what}: `}${messageOf(error)}`
    .replaceAll('\0', '')
    .slice(0, MAX_REASON);
}

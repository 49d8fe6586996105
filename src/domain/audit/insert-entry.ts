import { BoundedMap } from '../../core/bounded-map.ts';
import type { Db } from '../../db/pool.ts';
import type { NewEntry } from './audit-entry.ts';

const COLUMNS = {
  operation: 'operation',
  recordId: 'record_id',
  recordName: 'record_name',
  ownerId: 'owner_id',
  actorKind: 'actor_kind',
  actorId: 'actor_id',
  keyId: 'key_id',
  sessionId: 'session_id',
  interface: 'interface',
  address: 'address',
  requestId: 'request_id',
  outcome: 'outcome',
  reason: 'reason',
  repeats: 'repeats',
  changes: 'changes',
} satisfies Record<keyof NewEntry, string>;
const MEMBERS = Object.keys(COLUMNS) as (keyof NewEntry)[];
const NAMES = Object.values(COLUMNS).join(', ');
/** Types of parameters that PostgreSQL cannot infer in a `select`. */
const TYPES: Partial<Record<keyof NewEntry, string>> = { repeats: 'int', changes: 'json' };

type Value = string | number | null;

const INSERT = `insert into audit_entries (${NAMES}) values (${placeholders(1)})`;

/** Writes an entry, in the transaction of `db` if that is one. */
export async function insertEntry(db: Db, entry: NewEntry): Promise<void> {
  await db.query({
    name: 'audit-insert',
    text: INSERT,
    values: valuesOf(entry),
  });
}

/** A statement that writes rows. */
export interface WritingStatement {
  name: string;
  /** The common table expression that it selects from, written out before it. */
  before?: string;
  text: string;
  values: unknown[];
}

/**
 * Returns the statement with the entry written by it, if it writes a row: both or neither, for one round trip. Its result has one row for
 * each row that it wrote, with the `version` that the row has since: the transaction's, as `xmin` of all that it writes.
 */
export function withEntry({ name, before, text, values }: WritingStatement, entry: NewEntry): WritingStatement {
  let audited = auditedTexts.get(name);
  if (audited === undefined) {
    audited = `with ${before === undefined ? '' : `${before}, `}written as (${text} returning 1)
      insert into audit_entries (${NAMES}) select ${placeholders(values.length + 1)} from written returning xmin::text as version`;
    auditedTexts.set(name, audited);
  }
  return { name: `${name}-audited`, text: audited, values: [...values, ...valuesOf(entry)] };
}

/** Returns the statement alone. */
export function plainStatement({ name, before, text, values }: WritingStatement): Omit<WritingStatement, 'before'> {
  return { name, text: before === undefined ? text : `with ${before} ${text}`, values };
}

const auditedTexts = new BoundedMap<string, string>(100);

function placeholders(first: number): string {
  return MEMBERS.map((member, i) => `$${first + i}::${TYPES[member] ?? 'text'}`).join(', ');
}

function valuesOf(entry: NewEntry): Value[] {
  return MEMBERS.map((member) => {
    const value = entry[member];
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Value);
  });
}

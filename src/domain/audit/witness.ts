import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { authorOf, type NewEntry } from './audit-entry.ts';
import type { Fields } from './diff-records.ts';
import { insertEntry, type WritingStatement, withEntry } from './insert-entry.ts';
import { changesOf, lockSnapshot, type RecordSnapshot, readSnapshot } from './record-snapshot.ts';

/** A change as the operation saw it. Members that AUDITED_RECORDS does not name are not shown. */
export interface SeenChange {
  recordId: string;
  recordName: string;
  before: object;
  after: object;
}

/** An operation, as far as a witness knows it. */
interface Watched<Who extends Admin, Input, Result> {
  readonly name: string;
  subject(input: Input, result: Result): string;
  target?(input: Input, actor: Who): string | undefined;
  readonly seesItsChange?: true;
  readonly locksOthersFirst?: true;
  isAudited?(input: Input, result: Result): boolean;
}

/** Writes the audit entry of one operation: reads the record before and after, unless the operation reports its changes. */
export class Witness<Who extends Admin, Input extends object, Result> {
  readonly #operation: Watched<Who, Input, Result>;
  readonly #actor: Who;
  readonly #input: Input;
  /** The first word of the operation's name. */
  readonly #kind: string;
  #before: RecordSnapshot | null = null;
  #seen: SeenChange | null = null;

  constructor(operation: Watched<Who, Input, Result>, actor: Who, input: Input) {
    this.#operation = operation;
    this.#actor = actor;
    this.#input = input;
    this.#kind = kindOf(operation.name);
  }

  readonly audited = (statement: WritingStatement, seen: SeenChange): WritingStatement =>
    withEntry(statement, this.#entryOf(seen));

  readonly saw = (seen: SeenChange): void => {
    this.#seen = seen;
  };

  /** Called again when the transaction is retried. */
  async lookBefore(db: Db): Promise<void> {
    this.#seen = null;
    const { seesItsChange, locksOthersFirst } = this.#operation;
    const id = this.#operation.target
      ? this.#operation.target(this.#input, this.#actor)
      : (this.#input as { id?: string }).id;
    if (seesItsChange || id === undefined) return;
    this.#before = locksOthersFirst
      ? await readSnapshot(db, this.#kind, id)
      : await lockSnapshot(db, this.#kind, id, this.#kind === 'budget' ? null : (this.#actor?.userId ?? null));
  }

  async writeEntry(db: Db, result: Result): Promise<void> {
    if (this.#operation.isAudited?.(this.#input, result) === false) return;
    if (this.#seen !== null) return insertEntry(db, this.#entryOf(this.#seen));
    const recordId = this.#operation.subject(this.#input, result);
    const after = this.#operation.seesItsChange ? null : await readSnapshot(db, this.#kind, recordId);
    const shown = after ?? this.#before;
    await insertEntry(db, {
      ...this.#base(),
      recordId,
      recordName: shown?.name ?? null,
      ownerId: shown === null ? (this.#actor?.userId ?? null) : shown.ownerId,
      changes: changesOf(this.#kind, this.#before?.fields ?? null, after?.fields ?? null),
    });
  }

  #entryOf({ recordId, recordName, before, after }: SeenChange): NewEntry {
    const changes = changesOf(this.#kind, before as Fields, after as Fields);
    return { ...this.#base(), recordId, recordName, ownerId: this.#actor?.userId ?? null, changes };
  }

  #base() {
    const { name: operation } = this.#operation;
    return { ...authorOf(this.#actor), operation, outcome: 'done' as const, reason: null, repeats: 1 };
  }
}

function kindOf(operation: string): string {
  return operation.slice(0, operation.indexOf('.'));
}

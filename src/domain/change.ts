/**
 * Operations as values: what changes something is described once, and runs in one place for REST, GraphQL, v1, the
 * command line and control (docs/decisions/0095-operations-as-values.md). The runner writes the audit log, each entry in the
 * transaction of its change (docs/decisions/0115-audit-log.md).
 */
import { FairSlots } from '../core/flow/fair-slots.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { type Actor, type Admin, checkPermission, type Permission } from './access/actor.ts';
import type { WritingStatement } from './audit/insert-entry.ts';
import { recordRefusal } from './audit/record-refusal.ts';
import { type SeenChange, Witness } from './audit/witness.ts';
import type { Context } from './context.ts';
import { type CountedRecord, checkOneMore } from './quotas/check-limit.ts';

/** An operation's transaction. `bus` holds hints back until the commit, and forgets them if the transaction runs again. */
export interface Tx<Who extends Admin = Actor> extends Pick<Context, 'bus'> {
  readonly db: Db;
  readonly actor: Who;
  /** Returns a statement that also writes the operation's audit entry: for `runAtOnce`, whose one statement has to be that. */
  readonly audited: (statement: WritingStatement, seen: SeenChange) => WritingStatement;
  /** Reports the change of an operation that `seesItsChange`, for its audit entry. */
  readonly saw: (seen: SeenChange) => void;
}

/**
 * Something that changes records. `T` names what it needs beside the transaction, `Prepared` what `prepare` reads. If `Input` has
 * an `id`, it is that of the record that the permission concerns.
 */
export interface Operation<T extends Tx<Admin>, Input extends object, Result, Prepared = never> {
  /** `<record>.<verb>`; fixed for good, because log and audit entries hold it. */
  readonly name: `${string}.${string}`;
  /** The permission that the key must grant. The operator's tools have no key and may do everything. */
  permission(input: Input): Permission;
  /** The records it adds, which a user's limits count. */
  adds?(input: Input): { record: CountedRecord; count: number };
  /** Checks what needs no transaction, and waits for what must not hold one open, such as an engine. */
  prepare?(deps: Omit<T, keyof Tx>, input: Input): Promise<Prepared>;
  /**
   * Does everything with one writing statement, which is a transaction of its own, without the three round trips of another.
   * Resolves with undefined, and writes nothing, where `run` has to do it, as for an operation with a limit (`adds`).
   */
  runAtOnce?(tx: T, input: Input): Promise<Result | undefined>;
  /** Does everything in the transaction; runs again after a conflict with another one. */
  run(tx: T, input: Input, prepared: Prepared): Promise<Result>;
  /** Returns the id of the record that was changed. */
  subject(input: Input, result: Result): string;
  /** Returns the id of a record that is there before: what the audit entry compares with. By default the input's `id`. */
  target?(input: Input, actor: T['actor']): string | undefined;
  /** It reports to `saw` or `audited` what it changed, so that the runner need not read the record before and after. */
  readonly seesItsChange?: true;
  /** It locks other rows before its record's, so the runner must not lock that first. */
  readonly locksOthersFirst?: true;
  /** False: it changed nothing that people would look for, such as a lease that was renewed, and leaves no audit entry. */
  isAudited?(input: Input, result: Result): boolean;
}

/**
 * Runs an operation: checks the permission and the limit, commits everything with its audit entry or nothing, then sends its hints.
 * Throws `forbidden`, `tooManyRequests` over a limit, and what the operation throws; the audit log has that too.
 */
export async function change<T extends Tx<Admin>, Input extends object, Result, Prepared>(
  context: Context & Omit<T, keyof Tx>,
  actor: T['actor'],
  operation: Operation<T, Input, Result, Prepared>,
  input: Input,
): Promise<Result> {
  try {
    return await carryOut(context, actor, operation, input);
  } catch (error) {
    const target = operation.target ? operation.target(input, actor) : (input as { id?: string }).id;
    await recordRefusal(context, actor, { operation: operation.name, recordId: target ?? null, error });
    throw error;
  }
}

async function carryOut<T extends Tx<Admin>, Input extends object, Result, Prepared>(
  context: Context & Omit<T, keyof Tx>,
  actor: T['actor'],
  operation: Operation<T, Input, Result, Prepared>,
  input: Input,
): Promise<Result> {
  if (actor !== null) checkPermission(actor, operation.permission(input));
  const prepared = (await operation.prepare?.(context, input)) as Prepared;
  const adds = operation.adds?.(input);
  const witness = new Witness(operation, actor, input);
  let hints: Parameters<Context['bus']['publish']>[] = [];
  const begin = (db: Db): T => {
    hints = [];
    const bus: Context['bus'] = { publish: (...hint) => void hints.push(hint) };
    return { ...context, db, actor, bus, audited: witness.audited, saw: witness.saw } as unknown as T;
  };
  const commit = async () => {
    const atOnce = adds ? undefined : await operation.runAtOnce?.(begin(context.pool), input);
    if (atOnce !== undefined) return atOnce;
    return transaction(context.pool, async (db) => {
      if (adds && actor !== null) await checkOneMore(db, actor.userId, adds.record, adds.count);
      await witness.lookBefore(db);
      const result = await operation.run(begin(db), input, prepared);
      await witness.writeEntry(db, result);
      return result;
    });
  };
  const by = actor?.personId ?? actor?.userId;
  const result = await (by ? slotsOf(context.pool).run(by, commit) : commit());
  for (const hint of hints) context.bus.publish(...hint);
  const id = operation.subject(input, result);
  context.logger?.debug({ operation: operation.name, id, by, keyId: actor?.keyId }, 'changed');
  return result;
}

/**
 * How many changes of one person run at a time; and of one person while no other changes anything, as a share of the connections. Each
 * holds a database connection while it waits for another change of the same record: unlimited, one person could take all connections and
 * block everyone else. Unauthenticated changes, such as a sign-in, are not counted.
 */
const PER_PERSON = 4;
const SHARE_ALONE = 1 / 2;
const slotsByPool = new WeakMap<Pool, FairSlots>();

function slotsOf(pool: Pool): FairSlots {
  const known = slotsByPool.get(pool);
  if (known) return known;
  const alone = Math.max(PER_PERSON, Math.floor(pool.options.max * SHARE_ALONE));
  const slots = new FairSlots({ slots: Number.POSITIVE_INFINITY, perOwner: PER_PERSON, alone });
  slotsByPool.set(pool, slots);
  return slots;
}

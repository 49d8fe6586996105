import type pg from 'pg';
import { foldUsage } from '../../src/domain/billing/meter-usage.ts';

/** Retention that no setting changes: of rows of `table`, by `column`, in hours. */
const FIXED = [
  { table: 'idempotency_keys', column: 'created_at', hours: 24 },
  { table: 'job_stops', column: 'created_at', hours: 1 },
  { table: 'history', column: 'starts_at', hours: 25, where: "span = 'minute'" },
] as const;

/** Minutes of usage are folded two days after their hour has begun. */
const FOLDED_AFTER_HOURS = 50;

/**
 * Makes rows with a fixed retention as old as it once they have been there for `keepMs`, so that the server's own statements
 * delete them. What is deleted is up to those: a table whose statement is missing or wrong grows.
 */
export async function ageRows(db: pg.Pool, keepMs: number): Promise<void> {
  for (const { table, column, hours, ...rest } of FIXED) {
    const old = `interval '${hours} hours 1 minute'`;
    await db.query(
      `update ${table} set ${column} = ${column} - ${old}
       where ${column} < now() - $1 * interval '1 ms' and ${column} > now() - ${old} and ${'where' in rest ? rest.where : 'true'}`,
      [keepMs],
    );
  }
}

/** Folds minutes of usage as if it were later. */
export async function foldEarly(pool: pg.Pool, nowMs: number): Promise<void> {
  await foldUsage(pool, new Date(nowMs + FOLDED_AFTER_HOURS * 3_600_000));
}

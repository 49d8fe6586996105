import { judgeGrowth, type Tolerance } from './flatness.ts';

/** A table in one tenth of a run: its rows at the end, its peak size with indexes. */
interface TableInTenth {
  rows: number;
  mb: number;
  deadRows: number;
}

export type TablesInTenth = Record<string, TableInTenth>;

/** Rows that a table has at most by its nature, whatever the traffic, where that is more than the tolerance. */
const BOUNDED: Record<string, number> = {
  scaling_decisions: 100, // of each endpoint
  batch_requests: 1_000, // two batches
  batch_results: 1_000,
  workers: 40, // those of the last minutes, until these are metered
};

/** Tables whose rows are kept for ever, or longer than any day; their size is not judged. */
const KEPT: Record<string, string> = {
  audit_entries: 'one for each change, for 400 days',
  audit_seals: 'one for up to a thousand of them',
  releases: 'one for each change of an image or of variables',
  usage: 'one per hour, resource and component',
  usage_days: 'one per day, resource and component',
};

const ROWS: Tolerance = { share: 0.3, amount: 12 };
const MB: Tolerance = { share: 0.5, amount: 0.5 };

export interface TableGrowth {
  name: string;
  rows: { early: number; late: number };
  mb: { early: number; late: number };
  deadRows: number;
  verdict: 'flat' | 'kept' | 'not judged' | 'NOT FLAT';
}

/**
 * Judges each table that had rows. The rows are what retention keeps: a table whose rows are not deleted grows in rows long before the
 * sum of all sizes shows it. The size is what vacuum keeps. `unjudged`: tables for which the run was too short.
 */
export function judgeTables(tenths: readonly TablesInTenth[], unjudged: readonly string[] = []): TableGrowth[] {
  const names = [...new Set(tenths.flatMap((tenth) => Object.keys(tenth)))];
  return names
    .map((name) =>
      judgeTable(
        name,
        tenths.map((tenth) => tenth[name] ?? { rows: 0, mb: 0, deadRows: 0 }),
      ),
    )
    .filter(({ rows }) => rows.early > 0 || rows.late > 0)
    .map((table) => (unjudged.includes(table.name) ? { ...table, verdict: 'not judged' } : table));
}

function judgeTable(name: string, tenths: readonly TableInTenth[]): TableGrowth {
  const rows = judgeGrowth(
    tenths.map((table) => table.rows),
    { ...ROWS, amount: BOUNDED[name] ?? ROWS.amount },
  );
  const mb = judgeGrowth(
    tenths.map((table) => table.mb),
    MB,
  );
  const deadRows = Math.max(...tenths.slice(1).map((table) => table.deadRows));
  const verdict = KEPT[name] ? 'kept' : rows.isFlat && mb.isFlat ? 'flat' : 'NOT FLAT';
  return { name, rows, mb, deadRows, verdict };
}

import { renderTable } from '../queue/table.ts';
import { judgeGrowth, type Tolerance } from './flatness.ts';
import { type Activity, PARTITIONED, type Sample } from './samples.ts';
import type { SoakResult, Tenth } from './soak.ts';
import { judgeTables } from './table-growth.ts';

/** The unit of each figure, and what it may grow by. `isRate`: what is added in each tenth, instead of the size. */
const FIGURES: Record<keyof Sample, { name: string; tolerance: Tolerance; isRate?: boolean }> = {
  tables: { name: 'tables, MB', tolerance: { share: 0.2, amount: 2 } },
  indexes: { name: 'indexes, MB', tolerance: { share: 0.2, amount: 2 } },
  deadRows: { name: 'dead rows', tolerance: { share: 0.3, amount: 3_000 } },
  wal: { name: 'WAL kept, MB', tolerance: { share: 0.2, amount: 32 } },
  serverRss: { name: 'server RSS, MB', tolerance: { share: 0.15, amount: 20 } },
  databaseRss: { name: 'database memory, MB', tolerance: { share: 0.2, amount: 15 } },
  descriptors: { name: 'descriptors', tolerance: { share: 0.1, amount: 5 } },
  databaseLog: { name: 'database log, MB', tolerance: { share: 0.5, amount: 0.1 }, isRate: true },
  serverLog: { name: 'server log, MB', tolerance: { share: 0.2, amount: 0.1 }, isRate: true },
};

/** Partitions are ten minutes wide whatever the retention: in a shorter run none is dropped between its early and its late tenths. */
const MINUTES_FOR_PARTITIONS = 30;

/** Prints a row per figure and a row per table. Returns whether all of them are flat. */
export function printReport(result: SoakResult): boolean {
  const { tenths, databaseCpuUsPerJob, latencies } = result;
  const isFlat = [reportFigures(tenths), reportTables(result)].every(Boolean);
  process.stdout.write(
    `\ndatabase CPU ${databaseCpuUsPerJob.toFixed(0)} us a job; submitting p50 ${latencies.p50.toFixed(1)}, p99 ${latencies.p99.toFixed(1)} ms\n`,
  );
  return isFlat;
}

function reportFigures(tenths: readonly Tenth[]): boolean {
  const figures = (Object.keys(FIGURES) as (keyof Sample)[]).map((key) => {
    const { name, tolerance, isRate } = FIGURES[key];
    const values = tenths.map(({ peaks }) => peaks[key]);
    const peaks = values.map((value, i) => value - (isRate && i > 0 ? values[i - 1]! : 0));
    return { name, peaks, ...judgeGrowth(peaks, tolerance) };
  });
  process.stdout.write(
    renderTable([
      ['peak in tenth', ...tenths.map((_, i) => String(i + 1)), 'growth', ''],
      ...figures.map(({ name, peaks, growth, isFlat }) => [
        name,
        ...[...peaks, growth].map((value) => value.toFixed(Math.abs(value) < 10 ? 1 : 0)),
        isFlat ? 'flat' : 'NOT FLAT',
      ]),
    ]),
  );
  return figures.every(({ isFlat }) => isFlat);
}

function reportTables({ tenths, activity, minutes }: SoakResult): boolean {
  const unjudged = minutes < MINUTES_FOR_PARTITIONS ? [PARTITIONED] : [];
  const tables = judgeTables(
    tenths.map((tenth) => tenth.tables),
    unjudged,
  ).toSorted((a, b) => b.mb.late - a.mb.late);
  process.stdout.write('\n');
  process.stdout.write(
    renderTable([
      ['table', 'rows early', 'late', 'MB early', 'late', 'dead rows', 'vacuums', 'ms', 'analyze ms', 'HOT %', ''],
      ...tables.map(({ name, rows, mb, deadRows, verdict }) => [
        name,
        ...[rows.early, rows.late].map(String),
        ...[mb.early, mb.late].map((value) => value.toFixed(2)),
        String(deadRows),
        ...activityColumns(activity[name]),
        verdict,
      ]),
    ]),
  );
  return tables.every(({ verdict }) => verdict !== 'NOT FLAT');
}

/** Empty for a table that no longer exists. */
function activityColumns(activity: Activity | undefined): string[] {
  if (!activity) return ['', '', '', ''];
  const { vacuums, vacuumMs, analyzeMs, hotShare } = activity;
  return [vacuums, vacuumMs, analyzeMs, hotShare * 100].map((value) => value.toFixed(0));
}

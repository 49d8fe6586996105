import type { Db } from '../../db/pool.ts';

/** Whose lines are read: those of one worker or pod, or of all workers of an endpoint together. */
export type LogScope = { workloadId: string } | { endpointId: string };

/** A part of a workload's log: its lines with `lo < seq < hi`. */
export interface LogWindow {
  id: string;
  lo: number;
  hi: number;
}

/** Above every sequence number. */
export const LAST_SEQ = Number.MAX_SAFE_INTEGER;
/** How far clocks of machines may differ. */
const SKEW_MS = 60_000;
/** A bisection ends at this many lines; the rest is read. */
const NEAR = 512;

/** SQL for the ids and times of a scope's workloads; $1: the scope's id. Served by workers_live and workers_exited. */
export function workloadsOf(scope: LogScope): { sql: string; id: string } {
  if ('workloadId' in scope) {
    return {
      sql: 'select $1::text as id, null::timestamptz as created_at, null::timestamptz as exited_at',
      id: scope.workloadId,
    };
  }
  const columns = 'id, created_at, exited_at';
  const sql = `select ${columns} from workers where endpoint_id = $1 and phase <> 'EXITED'
    union all select ${columns} from workers where endpoint_id = $1 and phase = 'EXITED'`;
  return { sql, id: scope.endpointId };
}

/** Returns the sequence number of a scope's last stored line; 0 without lines. */
export async function lastLogSeq(db: Db, scope: LogScope): Promise<number> {
  const { sql, id } = workloadsOf(scope);
  const result = await db.query<{ seq: number }>(
    `select coalesce(max(last.seq), 0)::int8 as seq from (${sql}) w
     cross join lateral (select seq from log_lines where workload_id = w.id order by seq desc limit 1) last`,
    [id],
  );
  return result.rows[0]!.seq;
}

/**
 * Returns the parts of a scope's logs that hold all lines of a time range, and little else. There is no index on times: each
 * log is bisected along its primary key. Lines are stored in the order of `stored_at`, and a container's lines also in the
 * order in which it wrote them, however late they were stored.
 */
export async function findLogWindows(
  db: Db,
  scope: LogScope,
  { since, until }: { since?: Date | undefined; until?: Date | undefined },
): Promise<LogWindow[]> {
  const { sql, id } = workloadsOf(scope);
  const result = await db.query<LogWindow>(
    `with recursive w as materialized (
       select w.id, first.seq - 1 as lo, last.seq + 1 as hi from (${sql}) w
       cross join lateral (select seq from log_lines where workload_id = w.id order by seq limit 1) first
       cross join lateral (select seq from log_lines where workload_id = w.id order by seq desc limit 1) last
       where ($2::timestamptz is null or w.exited_at is null or w.exited_at > $2::timestamptz - interval '1 hour')
         and ($3::timestamptz is null or w.created_at is null or w.created_at < $3::timestamptz + interval '1 hour')
     ),
     bound (kind, at) as (
       values ('lo', $2::timestamptz - ${SKEW_MS} * interval '1 ms'), ('stored', $3::timestamptz + ${SKEW_MS} * interval '1 ms'),
              ('written', $3::timestamptz)
     ),
     bisect (id, kind, at, lo, hi) as (
       select w.id, bound.kind, bound.at, w.lo, w.hi from w, bound where bound.at is not null
       union all
       select b.id, b.kind, b.at, case when probe.is_early then probe.seq else b.lo end,
              case when probe.is_early then b.hi else (b.lo + b.hi) / 2 + 1 end
       from bisect b
       left join lateral (
         select l.seq, case b.kind when 'written' then l.ts <= b.at else l.stored_at < b.at end as is_early
         from log_lines l
         where l.workload_id = b.id and l.seq > (b.lo + b.hi) / 2 and l.seq < b.hi
           and (b.kind <> 'written' or l.source = 'container')
         order by l.seq limit 1
       ) probe on true
       where b.hi - b.lo > ${NEAR}
     ),
     ended as (select id, kind, max(lo) as lo, min(hi) as hi from bisect group by id, kind)
     select w.id, coalesce(min(e.lo) filter (where e.kind = 'lo'), w.lo)::int8 as lo,
            coalesce(max(e.hi) filter (where e.kind <> 'lo'), w.hi)::int8 as hi
     from w left join ended e using (id) group by w.id, w.lo, w.hi`,
    [id, since ?? null, until ?? null],
  );
  return result.rows;
}

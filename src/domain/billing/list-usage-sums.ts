import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { BucketRange } from './buckets.ts';
import type { UsageKind } from './usage.ts';

/** The use and cost of a group of resources in a bucket. */
export interface UsageSum {
  bucketAt: Date;
  /** The resource or the item (GPU type or CPU flavor) of the group; empty if everything is added up. */
  key: string;
  /** USD. */
  amount: number;
  /** USD of fast network storage. */
  fastAmount: number;
  /** How long GPUs or CPUs were held. */
  seconds: number;
  /** The largest disk of a resource, in GB, added up over the resources. */
  diskGb: number;
  /** The part of it on fast network storage. */
  fastDiskGb: number;
}

export interface UsageQuery {
  userId: UserId;
  kind: UsageKind;
  /** By item, a disk counts with the GPU type or CPU flavor of its resource. */
  groupBy: 'resource' | 'item' | 'nothing';
  /** Null: all. */
  resourceId: string | null;
  item: string | null;
  range: BucketRange;
}

const KEYS: Record<UsageQuery['groupBy'], string> = { resource: 'resource_id', item: 'item', nothing: "''" };

/** Returns sums by bucket and key, oldest bucket first. Served by the primary key of `usage`. */
export async function listUsageSums(db: Db, query: UsageQuery): Promise<UsageSum[]> {
  const { userId, kind, groupBy, resourceId, item, range } = query;
  const result = await db.query<UsageSum>(
    `with parts as (
       select date_trunc($2, starts_at, 'UTC') as bucket, resource_id, component, units, seconds, amount,
              max(item) over (partition by resource_id, starts_at, span) as item
       from usage
       where user_id = $1 and starts_at >= $3 and starts_at < $4 and kind = $5 and ($6::text is null or resource_id = $6)
     ), resources as (
       select bucket, ${KEYS[groupBy]} as key, sum(amount) as amount,
              coalesce(sum(amount) filter (where component = 'HIGH_PERFORMANCE'), 0) as fast_amount,
              coalesce(sum(seconds) filter (where component in ('GPU', 'CPU')), 0) as seconds,
              coalesce(max(units) filter (where component not in ('GPU', 'CPU')), 0) as disk,
              coalesce(max(units) filter (where component = 'HIGH_PERFORMANCE'), 0) as fast_disk
       from parts where $7::text is null or item = $7
       group by 1, 2, resource_id
     )
     select bucket as "bucketAt", key, sum(amount)::float8 as amount, sum(fast_amount)::float8 as "fastAmount",
            sum(seconds)::float8 as seconds, sum(disk)::int as "diskGb", sum(fast_disk)::int as "fastDiskGb"
     from resources group by 1, 2 order by 1, 2`,
    [userId, range.size, new Date(range.startMs), new Date(range.endMs), kind, resourceId, item],
  );
  return result.rows;
}

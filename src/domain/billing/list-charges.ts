import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { BucketRange } from './buckets.ts';
import type { UsageComponent, UsageKind } from './usage.ts';

/** The cost of a component of a resource in a bucket, in USD. */
export interface Charge {
  /** Start of the bucket. */
  bucketAt: Date;
  kind: UsageKind;
  /** Empty if the charges of all resources are added up. */
  resourceId: string;
  component: UsageComponent;
  amount: number;
}

/** Returns charges, oldest bucket first. `kind` null: all kinds, resources added up. `resourceId` null: all of the kind. */
export async function listCharges(
  db: Db,
  query: { userId: UserId; kind: UsageKind | null; resourceId: string | null; range: BucketRange },
): Promise<Charge[]> {
  const { userId, kind, resourceId, range } = query;
  const result = await db.query<Charge>(
    `select date_trunc($2, starts_at, 'UTC') as "bucketAt", kind, component, sum(amount)::float8 as amount,
            case when $5::text is null then '' else resource_id end as "resourceId"
     from usage
     where user_id = $1 and starts_at >= $3 and starts_at < $4 and ($5::text is null or kind = $5)
       and ($6::text is null or resource_id = $6)
     group by 1, 2, 3, 5 order by 1, 5, 2, 3`,
    [userId, range.size, new Date(range.startMs), new Date(range.endMs), kind, resourceId],
  );
  return result.rows;
}

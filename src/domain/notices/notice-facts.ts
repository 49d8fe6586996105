import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { listBudgets } from '../budgets/budget-store.ts';
import { listEndpointFacts } from '../endpoints/endpoint-facts.ts';
import type { EndpointFacts } from '../endpoints/endpoint-state.ts';
import { LIVE_REQUEST_DEMAND } from '../endpoints/request-demand.ts';

export interface EndpointNoticeFacts {
  id: EndpointId;
  name: string;
  userId: UserId;
  owner: string;
  /** Its oldest job or held request, without low priority; null: none waits. */
  oldestQueuedAt: Date | null;
  facts: EndpointFacts;
}

/** A budget that passed a threshold. */
export interface SpentBudget {
  id: string;
  userId: UserId;
  owner: string;
  /** Name of its endpoint; null: of everything. */
  name: string | null;
  month: string;
  amount: string;
  spent: string;
  passed: number[];
  isStopped: boolean;
}

/** A key that expires within a week. */
export interface ExpiringKey {
  id: string;
  kind: 'API' | 'S3';
  userId: UserId;
  owner: string;
  name: string;
  createdAt: Date;
  expiresAt: Date;
  /** Where it is a team's. */
  teamOwners: UserId[];
}

/** A version that is newer than the one that runs. */
export interface Update {
  version: string;
  /** The one that runs. */
  current: string;
  /** Where the operator keeps releases. */
  place: string;
}

export interface NoticeFacts {
  endpoints: EndpointNoticeFacts[];
  budgets: SpentBudget[];
  keys: ExpiringKey[];
  /** The problem of the disk, a sentence without a period; null: none; undefined: it could not be read. */
  disk: string | null | undefined;
  leader: {
    epoch: number;
    sinceMs: number;
    /** The last look of an earlier term; null: there was none. */
    before: { epoch: number; lookedAtMs: number } | null;
  };
  auditStreams: { kind: string; failures: number; lastError: string | null }[];
  /** Null: there is none, or no place to look is configured; undefined: not known yet, or the place cannot be read. */
  update: Update | null | undefined;
}

/** Reads everything of the installation that is in the database: a few statements, whose cost grows with its endpoints, not with their queues. */
export async function readNoticeFacts(
  db: Db,
  nowMs: number,
): Promise<Pick<NoticeFacts, 'endpoints' | 'budgets' | 'keys' | 'auditStreams'>> {
  return {
    endpoints: await listEndpoints(db),
    budgets: await listSpentBudgets(db),
    keys: await listExpiringKeys(db, nowMs),
    auditStreams: await listAuditStreams(db),
  };
}

async function listEndpoints(db: Db): Promise<EndpointNoticeFacts[]> {
  const facts = await listEndpointFacts(db, 'all');
  const { rows } = await db.query<Omit<EndpointNoticeFacts, 'facts'>>({
    name: 'notice-endpoints',
    text: `
      select e.id, e.name, e.user_id as "userId", u.name as owner, least(d.held_since, oldest.created_at) as "oldestQueuedAt"
      from endpoints e join users u on u.id = e.user_id
      left join (select endpoint_id, sum(queued) as queued from endpoint_counters group by 1) c on c.endpoint_id = e.id
      left join (select endpoint_id, min(oldest_held_at) as held_since from ${LIVE_REQUEST_DEMAND} r group by 1) d
        on d.endpoint_id = e.id
      left join lateral (
        select created_at from jobs j where c.queued > 0 and j.endpoint_id = e.id and j.status = 'IN_QUEUE'
          and not j.low_priority order by created_at, seq limit 1) oldest on true
      order by e.name, e.id`,
  });
  return rows.flatMap((row) => {
    const known = facts.get(row.id);
    return known === undefined ? [] : [{ ...row, facts: known }];
  });
}

async function listSpentBudgets(db: Db): Promise<SpentBudget[]> {
  const budgets = await listBudgets(db, null);
  return budgets
    .filter(({ passed }) => passed.length > 0)
    .map(({ userName, endpointName, ...budget }) => ({ ...budget, owner: userName, name: endpointName }));
}

async function listExpiringKeys(db: Db, nowMs: number): Promise<ExpiringKey[]> {
  const { rows } = await db.query<ExpiringKey>({
    name: 'notice-keys',
    text: `
      select k.*, u.name as owner,
        array(select m.user_id from team_members m where m.team_id = k."userId" and m.role = 'OWNER') as "teamOwners"
      from (
        select id, 'API' as kind, user_id as "userId", name, created_at as "createdAt", expires_at as "expiresAt"
        from api_keys where revoked_at is null and disabled_at is null
        union all
        select id, 'S3', user_id, name, created_at, expires_at from s3_keys) k
      join users u on u.id = k."userId"
      where k."expiresAt" > $1 and k."expiresAt" <= $1::timestamptz + interval '7 days' and u.suspended_at is null`,
    values: [new Date(nowMs)],
  });
  return rows;
}

async function listAuditStreams(db: Db): Promise<NoticeFacts['auditStreams']> {
  const { rows } = await db.query<NoticeFacts['auditStreams'][number]>(
    `select case kind when 'WEBHOOK' then 'the webhook' when 'SYSLOG' then 'syslog' else kind end as kind, failures,
       last_error as "lastError"
     from audit_stream where failures > 0 order by kind`,
  );
  return rows;
}

import type { EndpointId, UserId } from '../../core/ids.ts';
import { bytesText } from '../../core/text/bytes-text.ts';
import type { Db } from '../../db/pool.ts';
import type { PinnedModel } from '../models/pinned-model.ts';

/** A model on the machine that runs workers, or on its way there. */
export interface MachineModel extends Pick<PinnedModel, 'id' | 'source' | 'name' | 'commit'> {
  bytes: number;
  /** Null: it is not whole yet. */
  fetchedAt: Date | null;
  /** When a worker last started with it. */
  usedAt: Date | null;
  /** A worker sees it. */
  isHeld: boolean;
  /** It does not leave to make room. */
  isKept: boolean;
  /** An admin has it fetched before a start needs it. */
  isWanted: boolean;
  /** How far its fetch is: of what was missing when that began. */
  fetchedBytes: number;
  fetchTotalBytes: number;
  fetchBytesPerSecond: number;
  /** Why its fetch failed. */
  problem: string | null;
  /** Whose newest release has it, by name. */
  endpoints: { id: EndpointId; name: string }[];
}

/** Returns the models that endpoints of the user have, the last one used first; null: all models, with everybody's endpoints. */
export async function listMachineModels(
  db: Db,
  userId: UserId | null,
  id: string | null = null,
): Promise<MachineModel[]> {
  const result = await db.query<MachineModel>({
    name: 'machine-models',
    text: `with uses as (
             select u.model_id, jsonb_agg(distinct jsonb_build_object('id', e.id, 'name', e.name)) as endpoints
             from endpoints e join releases r on r.endpoint_id = e.id and r.version = e.version
             cross join lateral (select value ->> 'id' as model_id
                                 from jsonb_array_elements(coalesce(r.spec -> 'models', '[]'))) u
             where $1::text is null or e.user_id = $1
             group by 1)
           select p.id, p.source, p.name, p.commit, p.bytes, m.fetched_at as "fetchedAt", m.used_at as "usedAt",
                  m.is_held as "isHeld", m.is_kept as "isKept", m.wanted_by is not null as "isWanted",
                  m.fetched_bytes as "fetchedBytes", m.fetch_total_bytes as "fetchTotalBytes",
                  m.fetch_bytes_per_second as "fetchBytesPerSecond", m.problem, coalesce(u.endpoints, '[]') as endpoints
           from machine_models m join pinned_models p on p.id = m.model_id left join uses u on u.model_id = m.model_id
           where ($1::text is null or u.model_id is not null) and ($2::text is null or p.id = $2)
           order by m.used_at desc nulls first, p.id`,
    values: [userId, id],
  });
  return result.rows;
}

/** The machine's models now, as its store reports them. */
export interface MachineState {
  stored: readonly { model: Pick<PinnedModel, 'id'>; fetchedAt: string; usedAt: string; isHeld: boolean }[];
  fetching: readonly { id: string; bytes: number; totalBytes: number; bytesPerSecond: number }[];
  room: ModelRoom;
}

/** Bytes that models may take of the machine's disk, and what they take. */
export interface ModelRoom {
  budgetBytes: number;
  usedBytes: number;
  /** Bytes of models that workers use or that are kept. */
  stuckBytes: number;
}

/** Stores what the machine has now. A removal of one that a worker sees is forgotten. */
export async function writeMachineState(db: Db, { stored, fetching, room }: MachineState): Promise<void> {
  const rows = stored.map(({ model, fetchedAt, usedAt, isHeld }) => ({ id: model.id, fetchedAt, usedAt, isHeld }));
  const known = new Set(rows.map(({ id }) => id));
  const coming = [...new Map(fetching.filter(({ id }) => !known.has(id)).map((one) => [one.id, one])).values()];
  await db.query({
    name: 'machine-models-write',
    text: `with n as (
             select * from jsonb_to_recordset($1::jsonb)
               as n(id text, "fetchedAt" timestamptz, "usedAt" timestamptz, "isHeld" boolean,
                    bytes bigint, "totalBytes" bigint, "bytesPerSecond" bigint)),
           gone as (delete from machine_models where model_id not in (select id from n)
                    and (fetched_at is not null or wanted_by is null)),
           r as (insert into model_room (budget_bytes, used_bytes, stuck_bytes) values ($2, $3, $4)
                 on conflict (is_only) do update set budget_bytes = excluded.budget_bytes,
                   used_bytes = excluded.used_bytes, stuck_bytes = excluded.stuck_bytes)
           insert into machine_models as m
             (model_id, fetched_at, used_at, is_held, fetched_bytes, fetch_total_bytes, fetch_bytes_per_second)
           select n.id, n."fetchedAt", n."usedAt", coalesce(n."isHeld", false), coalesce(n.bytes, 0),
                  coalesce(n."totalBytes", 0), coalesce(n."bytesPerSecond", 0)
           from n join pinned_models p on p.id = n.id order by n.id
           on conflict (model_id) do update set fetched_at = excluded.fetched_at, used_at = excluded.used_at,
             is_held = excluded.is_held, fetched_bytes = excluded.fetched_bytes,
             fetch_total_bytes = excluded.fetch_total_bytes, fetch_bytes_per_second = excluded.fetch_bytes_per_second,
             problem = null,
             removal_wanted_at = case when not excluded.is_held then m.removal_wanted_at end`,
    values: [JSON.stringify([...rows, ...coming]), room.budgetBytes, room.usedBytes, room.stuckBytes],
  });
}

/** Forgets what a machine had: this installation's workers run elsewhere now. */
export async function forgetMachineModels(db: Db): Promise<void> {
  await db.query('with room as (delete from model_room) delete from machine_models');
}

/** Undefined: no machine stores models. `lock`: until the transaction ends, so that concurrent reservations see each other. */
export async function findModelRoom(db: Db, lock = false): Promise<ModelRoom | undefined> {
  const result = await db.query<ModelRoom>(
    `select budget_bytes as "budgetBytes", used_bytes as "usedBytes", stuck_bytes as "stuckBytes"
     from model_room ${lock ? 'for update' : ''}`,
  );
  return result.rows[0];
}

/** An order of admins about a model on the machine. */
export interface ModelOrder {
  id: string;
  isStored: boolean;
  isKept: boolean;
  isUnwanted: boolean;
  /** Whose token brings it, before a start needs it. */
  wantedBy: UserId | null;
  tokenSecret: string | null;
  /** Why that failed. */
  problem: string | null;
}

export async function listModelOrders(db: Db): Promise<ModelOrder[]> {
  const result = await db.query<ModelOrder>(
    `select model_id as id, fetched_at is not null as "isStored", is_kept as "isKept", wanted_by as "wantedBy",
            removal_wanted_at is not null as "isUnwanted", token_secret as "tokenSecret", problem
     from machine_models order by model_id`,
  );
  return result.rows;
}

/** Returns the bytes of all kept models and one more, each file counted once. */
export async function keptBytesWith(db: Db, id: string): Promise<number> {
  const result = await db.query<{ bytes: number }>(
    `select coalesce(sum(size), 0)::int8 as bytes from (
       select distinct f ->> 'digest', (f ->> 'size')::int8 as size
       from pinned_models p cross join lateral jsonb_array_elements(p.files) f
       where p.id = $1 or p.id in (select model_id from machine_models where is_kept)) files`,
    [id],
  );
  return result.rows[0]!.bytes;
}

/** Has control fetch a model unless it is there. `isKept`: and keep it; false: as it is. */
export async function orderModel(
  db: Db,
  id: string,
  { wantedBy, tokenSecret, isKept }: { wantedBy: UserId; tokenSecret: string | null; isKept: boolean },
): Promise<void> {
  await db.query(
    `insert into machine_models as m (model_id, wanted_by, token_secret, is_kept) values ($1, $2, $3, $4)
     on conflict (model_id) do update set wanted_by = excluded.wanted_by, token_secret = excluded.token_secret,
       is_kept = m.is_kept or excluded.is_kept, problem = null, removal_wanted_at = null`,
    [id, wantedBy, tokenSecret, isKept],
  );
}

export async function markKept(db: Db, id: string, isKept: boolean): Promise<void> {
  await db.query('update machine_models set is_kept = $2 where model_id = $1', [id, isKept]);
}

/** Stores why a fetch that was wanted has failed. */
export async function markFetchFailed(db: Db, id: string, problem: string): Promise<void> {
  await db.query(
    'update machine_models set problem = $2 where model_id = $1 and fetched_at is null and wanted_by is not null',
    [id, problem],
  );
}

/** Has control remove a stored model. */
export async function markUnwanted(db: Db, id: string): Promise<void> {
  await db.query('update machine_models set removal_wanted_at = now(), wanted_by = null where model_id = $1', [id]);
}

/** Has control end the fetch of a model. */
export async function deleteModelOrder(db: Db, id: string): Promise<void> {
  await db.query('delete from machine_models where model_id = $1', [id]);
}

/** From this share of the budget on, models that cannot leave are a problem. */
const STUCK_SHARE = 0.8;

/**
 * Returns a sentence, without a period, when models that workers use or that are pinned take most of what models may take: others
 * soon don't fit any more. Stored models that may leave are none: they do when room is needed.
 */
export function modelRoomProblem(room: ModelRoom | undefined): string | null {
  if (room === undefined || room.stuckBytes < room.budgetBytes * STUCK_SHARE || room.stuckBytes === 0) return null;
  const share = Math.round((100 * room.stuckBytes) / Math.max(room.budgetBytes, 1));
  return `Models that are pinned or in use take ${share} % of the ${bytesText(room.budgetBytes)} for models (--models-gb): unpin some, or others soon do not fit`;
}

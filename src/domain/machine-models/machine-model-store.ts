import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { PinnedModel } from '../models/pinned-model.ts';

/** A model on the machine that runs workers. */
export interface MachineModel extends Pick<PinnedModel, 'id' | 'source' | 'name' | 'commit'> {
  bytes: number;
  fetchedAt: Date;
  /** When a worker last started with it. */
  usedAt: Date;
  /** A worker sees it. */
  isHeld: boolean;
  /** Whose newest release has it, by name. */
  endpoints: { id: EndpointId; name: string }[];
}

/** Returns the models that endpoints of the user have, the last one used first; null: all models, with everybody's endpoints. */
export async function listMachineModels(db: Db, userId: UserId | null): Promise<MachineModel[]> {
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
                  m.is_held as "isHeld", coalesce(u.endpoints, '[]') as endpoints
           from machine_models m join pinned_models p on p.id = m.model_id left join uses u on u.model_id = m.model_id
           where $1::text is null or u.model_id is not null
           order by m.used_at desc, p.id`,
    values: [userId],
  });
  return result.rows;
}

/** Stores which models the machine has now. What is wanted of one that a worker sees is forgotten. */
export async function replaceMachineModels(
  db: Db,
  models: readonly { model: Pick<PinnedModel, 'id'>; fetchedAt: string; usedAt: string; isHeld: boolean }[],
): Promise<void> {
  const rows = models.map(({ model, ...rest }) => ({ id: model.id, ...rest }));
  await db.query({
    name: 'machine-models-replace',
    text: `with n as (
             select * from jsonb_to_recordset($1::jsonb)
               as n(id text, "fetchedAt" timestamptz, "usedAt" timestamptz, "isHeld" boolean)),
           gone as (delete from machine_models where model_id not in (select id from n))
           insert into machine_models as m (model_id, fetched_at, used_at, is_held)
           select n.id, n."fetchedAt", n."usedAt", n."isHeld" from n join pinned_models p on p.id = n.id order by n.id
           on conflict (model_id) do update set fetched_at = excluded.fetched_at, used_at = excluded.used_at,
             is_held = excluded.is_held,
             removal_wanted_at = case when not excluded.is_held then m.removal_wanted_at end`,
    values: [JSON.stringify(rows)],
  });
}

/** Returns the ids of the models that are to be removed. */
export async function listUnwantedModels(db: Db): Promise<string[]> {
  const result = await db.query<{ id: string }>(
    'select model_id as id from machine_models where removal_wanted_at is not null order by model_id',
  );
  return result.rows.map(({ id }) => id);
}

/** Has control remove a model. Returns whether a worker sees it, which keeps it; undefined: it is not there. */
export async function markUnwanted(db: Db, id: string): Promise<{ isHeld: boolean } | undefined> {
  const result = await db.query<{ isHeld: boolean }>(
    `update machine_models set removal_wanted_at = case when not is_held then now() end where model_id = $1
     returning is_held as "isHeld"`,
    [id],
  );
  return result.rows[0];
}

import { createHash } from 'node:crypto';
import type { Db } from '../../db/pool.ts';
import type { PinnedModel } from './pinned-model.ts';

/** Stores a model unless it is there, and returns it with its id. `files` are sorted by path. */
export async function pinModel(db: Db, model: Omit<PinnedModel, 'id'>): Promise<PinnedModel> {
  const files = model.files.map(({ path, size, digest }) => ({ path, size, digest }));
  const { source, name, commit } = model;
  const id = createHash('sha256')
    .update(JSON.stringify([source, name, commit, files]))
    .digest('hex');
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  await db.query(
    `insert into pinned_models (id, source, name, commit, files, bytes) values ($1, $2, $3, $4, $5, $6)
     on conflict (id) do update set created_at = now()`,
    [id, source, name, commit, JSON.stringify(files), bytes],
  );
  return { id, source, name, commit, files };
}

/**
 * Deletes models that no release, no live worker and no machine has. One that was pinned within the last day may be on its way into a
 * release.
 */
export async function deleteUnusedModels(db: Db): Promise<void> {
  await db.query(
    `delete from pinned_models p
     where created_at < now() - interval '1 day'
       and not exists (select from machine_models where model_id = p.id)
       and p.id not in (select value ->> 'id' from releases r cross join jsonb_array_elements(r.spec -> 'models')
                        where jsonb_typeof(r.spec -> 'models') = 'array')
       and p.id not in (select value ->> 'id' from workers w cross join jsonb_array_elements(w.spec -> 'models')
                        where jsonb_typeof(w.spec -> 'models') = 'array' and w.phase <> 'EXITED')`,
  );
}

/** Returns the model with all its files. */
export async function findPinnedModel(db: Db, id: string): Promise<PinnedModel | undefined> {
  const { rows } = await db.query<PinnedModel>(
    'select id, source, name, commit, files from pinned_models where id = $1',
    [id],
  );
  return rows[0];
}

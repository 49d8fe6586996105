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
     on conflict (id) do nothing`,
    [id, source, name, commit, JSON.stringify(files), bytes],
  );
  return { id, source, name, commit, files };
}

/** Returns the model with all its files. */
export async function findPinnedModel(db: Db, id: string): Promise<PinnedModel | undefined> {
  const { rows } = await db.query<PinnedModel>(
    'select id, source, name, commit, files from pinned_models where id = $1',
    [id],
  );
  return rows[0];
}

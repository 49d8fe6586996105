import type { Db } from '../../db/pool.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { missingTokenText } from './model-text.ts';
import type { ModelUse } from './pinned-model.ts';

export interface EndpointModel extends ModelUse {
  /** How many files it has. */
  files: number;
  /** Why a machine cannot fetch it, as far as the database knows; null: nothing. */
  problem: string | null;
}

/** Returns the models of an endpoint's newest release, in order. */
export async function listEndpointModels(db: Db, { userId, models }: Endpoint): Promise<EndpointModel[]> {
  if (models.length === 0) return [];
  const [pinned, secrets] = await Promise.all([
    db.query<{ id: string; files: number }>(
      'select id, jsonb_array_length(files) as files from pinned_models where id = any($1::text[])',
      [models.map(({ id }) => id)],
    ),
    db.query<{ name: string }>('select name from secrets where user_id = $1 and name = any($2::text[])', [
      ...[userId, models.flatMap(({ tokenSecret }) => tokenSecret ?? [])],
    ]),
  ]);
  const files = new Map(pinned.rows.map((row) => [row.id, row.files]));
  const known = new Set(secrets.rows.map(({ name }) => name));
  return models.map((use) => {
    const isLacking = use.tokenSecret !== null && !known.has(use.tokenSecret);
    const problem = isLacking ? missingTokenText(use.tokenSecret!) : null;
    return { ...use, files: files.get(use.id) ?? 0, problem };
  });
}

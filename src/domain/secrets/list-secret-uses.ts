import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { ModelUse } from '../models/pinned-model.ts';
import type { SecretUse } from './secret.ts';
import { REFERENCE_PREFIX, secretNamesIn } from './secret-references.ts';

/**
 * Returns for each secret name the user's templates, endpoints and pods that reference it in `env`, or as the
 * token of a model, in this order, each oldest first. Unused names are missing. With `name`, of that secret only. One query.
 */
export async function listSecretUses(db: Db, userId: UserId, name = ''): Promise<Map<string, SecretUse[]>> {
  const result = await db.query<SecretUse & { env: Record<string, string>; models: ModelUse[] }>(
    `select kind, id, name, env, models from (
       select 1 as place, 'template' as kind, id, name, env, '[]'::jsonb as models, created_at from templates where user_id = $1
       union all
       select 2, 'endpoint', id, name, env, models, created_at from endpoints where user_id = $1
       union all
       select 3, 'pod', id, name, env, '[]', created_at from pods where user_id = $1 and wanted <> 'TERMINATE'
     ) x where strpos(env::text, $2) > 0 or models::text like '%"tokenSecret": "%' order by place, created_at, id`,
    [userId, REFERENCE_PREFIX + name],
  );
  const uses = new Map<string, SecretUse[]>();
  for (const { kind, id, name: ownName, env, models } of result.rows) {
    const tokens = models.flatMap(({ tokenSecret }) => tokenSecret ?? []);
    for (const used of new Set([...secretNamesIn(env), ...tokens])) {
      if (name !== '' && used !== name) continue;
      uses.set(used, [...(uses.get(used) ?? []), { kind, id, name: ownName }]);
    }
  }
  return uses;
}

import type { EndpointId, UserId } from '../../core/ids.ts';
import { textArray } from '../../db/arrays.ts';
import type { Db } from '../../db/pool.ts';
import type { EndpointType } from './endpoint.ts';

/** An endpoint as OpenAI-style clients see it. */
export interface ModelEndpoint {
  id: EndpointId;
  name: string;
  type: EndpointType;
  createdAt: Date;
  /** The ids of the models that it serves, as far as is known. */
  models: readonly string[];
}

/** Variables of the common images that name the model to clients, the one that wins first. */
const MODEL_VARIABLES = ['OPENAI_SERVED_MODEL_NAME_OVERRIDE', 'SERVED_MODEL_NAME', 'MODEL_NAME'];

const MAX_MODELS = 200;
const MAX_ID_CHARACTERS = 200;

/** Not a reference to a secret, which has braces. */
const MODEL_ID = `'^[^{}[:cntrl:]]{1,${MAX_ID_CHARACTERS}}$'`;
const ENV_MODEL = `coalesce(${MODEL_VARIABLES.map((name) => `substring(e.env->>'${name}' from ${MODEL_ID})`).join(', ')})`;

/** A list of another release is not worth more than what the environment names. */
const COLUMNS = `e.id, e.name, e.type, e.created_at as "createdAt",
  case when m.version = e.version or ${ENV_MODEL} is null then coalesce(m.models, '{}') else array[${ENV_MODEL}] end as models`;

/** Returns the user's endpoints that a `model` may mean: by id, by name, or by what they serve. */
export async function findModelEndpoints(db: Db, userId: UserId, model: string): Promise<ModelEndpoint[]> {
  const { rows } = await db.query<ModelEndpoint>({
    name: 'model-endpoints',
    text: `select ${COLUMNS} from endpoints e left join served_models m on m.endpoint_id = e.id
           where e.user_id = $1 and (e.id = $2 or e.name = $2 or $2 = any(m.models) or ${ENV_MODEL} = $2)
           order by e.created_at, e.id`,
    values: [userId, model],
  });
  return rows;
}

/** Returns the user's queue-based endpoints, oldest first. */
export async function listModelEndpoints(db: Db, userId: UserId): Promise<ModelEndpoint[]> {
  const { rows } = await db.query<ModelEndpoint>({
    name: 'model-endpoints-all',
    text: `select ${COLUMNS} from endpoints e left join served_models m on m.endpoint_id = e.id
           where e.user_id = $1 and e.type = 'QUEUE_BASED' order by e.created_at, e.id`,
    values: [userId],
  });
  return rows;
}

/** Stores what an endpoint serves. Writes nothing if it is known already. */
export async function rememberModels(db: Db, endpointId: EndpointId, models: readonly string[]): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'models-remember',
    text: `insert into served_models as m (endpoint_id, version, models)
           select id, version, $2::text[] from endpoints where id = $1
           on conflict (endpoint_id) do update set version = excluded.version, models = excluded.models, listed_at = now()
             where m.version <> excluded.version or m.models <> excluded.models`,
    values: [endpointId, textArray(models)],
  });
  return rowCount === 1;
}

/** Returns the ids in a list of models as OpenAI's interface has it; null if it is none. At most MAX_MODELS. */
export function readModelIds(output: unknown): string[] | null {
  const list: unknown = Array.isArray(output) && output.length === 1 ? output[0] : output;
  const data = (list as { data?: unknown } | null | undefined)?.data;
  if (!Array.isArray(data)) return null;
  const ids = data.map((model: unknown) => (model as { id?: unknown } | null)?.id).filter(isModelId);
  return ids.length === 0 ? null : [...new Set(ids)].slice(0, MAX_MODELS);
}

function isModelId(id: unknown): id is string {
  return typeof id === 'string' && id.length > 0 && id.length <= MAX_ID_CHARACTERS && !/\p{Cc}/u.test(id);
}

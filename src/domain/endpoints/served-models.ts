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
/** The names of models that a variable may hold. A reference to a secret, which has braces, is not one. */
const MODEL_ID = /^[^{}\p{Cc}]{1,200}$/u;

const COLUMNS = `e.id, e.name, e.type, e.created_at as "createdAt", m.models, m.version = e.version as "isCurrent",
  array[${MODEL_VARIABLES.map((name) => `e.env->>'${name}'`).join(', ')}] as variables`;

interface ModelRow extends Omit<ModelEndpoint, 'models'> {
  models: string[] | null;
  /** True if the newest release listed them. */
  isCurrent: boolean | null;
  variables: (string | null)[];
}

/** Returns the user's endpoints that a `model` may mean: by id, by name, or by what they serve. */
export async function findModelEndpoints(db: Db, userId: UserId, model: string): Promise<ModelEndpoint[]> {
  const { rows } = await db.query<ModelRow>({
    name: 'model-endpoints',
    text: `select ${COLUMNS} from endpoints e left join served_models m on m.endpoint_id = e.id
           where e.user_id = $1 and (e.id = $2 or e.name = $2 or $2 = any(m.models)
             ${MODEL_VARIABLES.map((name) => `or e.env->>'${name}' = $2`).join(' ')})
           order by e.created_at, e.id`,
    values: [userId, model],
  });
  return rows.map(fromRow);
}

/** Returns the user's queue-based endpoints, oldest first. */
export async function listModelEndpoints(db: Db, userId: UserId): Promise<ModelEndpoint[]> {
  const { rows } = await db.query<ModelRow>({
    name: 'model-endpoints-all',
    text: `select ${COLUMNS} from endpoints e left join served_models m on m.endpoint_id = e.id
           where e.user_id = $1 and e.type = 'QUEUE_BASED' order by e.created_at, e.id`,
    values: [userId],
  });
  return rows.map(fromRow);
}

/** A list of another release is worth less than what the environment names. */
function fromRow({ id, name, type, createdAt, models, isCurrent, variables }: ModelRow): ModelEndpoint {
  const variable = variables.find((value) => value !== null && MODEL_ID.test(value));
  const isListed = models !== null && (isCurrent === true || variable == null);
  return { id, name, type, createdAt, models: isListed ? models : variable == null ? [] : [variable] };
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
  return typeof id === 'string' && MODEL_ID.test(id);
}

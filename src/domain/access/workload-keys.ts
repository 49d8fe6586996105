/**
 * The keys that workers and pods find in RUNPOD_API_KEY: for their own pod or endpoint, and for nothing else. A key has the id
 * of its workload and lives as long as its container; the secret is known only there. Listed nowhere.
 */
import { type EndpointId, type KeyId, newSecret, type PodId, type UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { KEY_PREFIX } from './create-api-key.ts';
import { formatScope } from './scopes.ts';
import { hashSecret } from './secret-hash.ts';

/** The variable in which programs look for it. One of the user's own wins: then there is no such key. */
export const KEY_VARIABLE = 'RUNPOD_API_KEY';

/** A statement that gives each row of `from` (id, user_id, endpoint_id, key_hash) its key: read the endpoint, send it work. */
export const insertWorkerKeys = (from: string) => `
  insert into api_keys (id, user_id, name, secret_hash, scopes, workload)
  select id, user_id, 'worker ' || id, key_hash, array['invoke/' || endpoint_id, 'serverless/' || endpoint_id || ':read'], 'WORKER'
  from ${from} where key_hash is not null
  on conflict (id) do update set secret_hash = excluded.secret_hash`;

/** A statement that deletes the keys of the workloads whose ids `ids` selects. */
export const deleteWorkloadKeys = (ids: string) => `delete from api_keys where id in (${ids}) and workload is not null`;

/** Deletes the keys of an endpoint's workers, which may still finish their jobs. Returns their ids, to be published. */
export async function deleteKeysOfEndpoint(db: Db, endpointId: EndpointId): Promise<KeyId[]> {
  const ids = "select id from workers where endpoint_id = $1 and phase <> 'EXITED'";
  const result = await db.query<{ id: KeyId }>(`${deleteWorkloadKeys(ids)} returning id`, [endpointId]);
  return result.rows.map(({ id }) => id);
}

/** Deletes the key of a pod that is to end. */
export async function deletePodKey(db: Db, id: PodId): Promise<void> {
  await db.query(deleteWorkloadKeys('$1'), [id]);
}

/** Returns a new secret for a worker's key. */
export function newWorkloadSecret(): { secret: string; hash: Buffer } {
  const secret = newSecret(KEY_PREFIX);
  return { secret, hash: hashSecret(secret) };
}

/** Gives a pod its key, in place of a former one, and returns the secret: it may read, change, stop and terminate this pod. */
export async function renewPodKey(db: Db, pod: { id: PodId; userId: UserId }): Promise<string> {
  const { secret, hash } = newWorkloadSecret();
  const scope = formatScope({ kind: 'area', area: 'pods', resourceId: pod.id, access: 'write' });
  await db.query(
    `insert into api_keys (id, user_id, name, secret_hash, scopes, workload) values ($1, $2, $3, $4, $5, 'POD')
     on conflict (id) do update set secret_hash = excluded.secret_hash`,
    [pod.id as string as KeyId, pod.userId, `pod ${pod.id}`, hash, [scope]],
  );
  return secret;
}

import type { RegistryId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import { sealSecret } from '../secrets/seal-secret.ts';

export interface Credentials {
  username: string;
  password: string;
}

/** As stored. `username` is empty, since `password` holds both, unless an earlier version stored it in clear text. */
export interface StoredCredentials {
  username: string;
  password: Buffer;
}

/** Seals both as one value. `db` must be the transaction that stores it. */
export async function sealCredentials(
  db: Db,
  secretBox: SecretBox,
  { username, password }: Credentials,
  id: RegistryId,
): Promise<StoredCredentials> {
  const sealed = await sealSecret(db, secretBox, JSON.stringify({ username, password }), id);
  return { username: '', password: sealed };
}

export function unsealCredentials(secretBox: SecretBox, stored: StoredCredentials, id: RegistryId): Credentials {
  const opened = secretBox.open(stored.password, id);
  if (hasClearUsername(stored)) return { username: stored.username, password: opened };
  return JSON.parse(opened) as Credentials;
}

/** True for what an earlier version stored. */
export function hasClearUsername({ username }: StoredCredentials): boolean {
  return username !== '';
}

import { ensureMasterKeys, type MasterKeySource, readMasterKeys } from '../../core/master-key.ts';
import { createSecretBox, type SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import { checkMasterKey, checkNothingSealed } from './check-master-key.ts';

/**
 * What opens and seals the secrets of this database. On the first start the key is made and put into the file. Keys that
 * a rotation adds to the file later are found when they are needed. Throws a sentence that says what to do when a key is
 * missing, or another one; nothing is made or changed then.
 */
export async function openSecretBox(pool: Pool, source: MasterKeySource): Promise<SecretBox> {
  const secretBox = source.keys ? createSecretBox(source.keys) : await openFile(pool, source.file);
  await checkMasterKey(pool, secretBox);
  return secretBox;
}

async function openFile(pool: Pool, file: string): Promise<SecretBox> {
  if (!readMasterKeys(file)) await checkNothingSealed(pool, file);
  return createSecretBox(await ensureMasterKeys(file), () => readMasterKeys(file) ?? []);
}

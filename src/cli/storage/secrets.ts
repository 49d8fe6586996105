import {
  type MasterKeySource,
  newMasterKey,
  readMasterKeys,
  replaceMasterKeys,
  retireMasterKeys,
} from '../../core/master-key.ts';
import { createSecretBox, masterKeyId } from '../../core/secret-box.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { Pool } from '../../db/pool.ts';
import type { Context } from '../../domain/context.ts';
import { checkMasterKey } from '../../domain/secrets/check-master-key.ts';
import { type Rotation, rotateMasterKey } from '../../domain/secrets/rotate-master-key.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';

/**
 * Re-encrypts all secrets and passwords under another master key, while servers run. Safe to interrupt; run it again to
 * resume. Throws a sentence if a value could not be re-encrypted.
 *
 * With keys in the file: generates a new key, keeps it before the old one while both are needed, and finally removes the
 * old one to `<file>.retired`, for backups that need it. With keys in the environment: the first is the target.
 */
export async function rotateKey(context: Context, source: MasterKeySource, output: CliOutput): Promise<void> {
  await withRotationLock(context.pool, () =>
    source.keys ? rotateToGiven(context.pool, source.keys, output) : rotateFile(context.pool, source.file, output),
  );
}

async function rotateFile(pool: Pool, file: string, output: CliOutput): Promise<void> {
  const before = readMasterKeys(file);
  if (!before) throw new Error(`there is no ${file}: a server creates it at its first start`);
  await checkMasterKey(pool, createSecretBox(before));
  const keys = before.length > 1 ? before : [newMasterKey(), ...before];
  if (before.length > 1) output.note('Resuming an interrupted rotation.');
  else await replaceMasterKeys(file, keys);
  await rotateTo(pool, keys, output);
  await retireMasterKeys(`${file}.retired`, keys.slice(1));
  await replaceMasterKeys(file, keys.slice(0, 1));
  output.note(`The old key is in ${file}.retired, for older backups. Delete it when you no longer need them.`);
}

async function rotateToGiven(pool: Pool, keys: readonly Uint8Array[], output: CliOutput): Promise<void> {
  await checkMasterKey(pool, createSecretBox(keys));
  if (keys.length === 1) {
    throw new Error(
      'PODYARD_MASTER_KEY holds one key: put a new one before it, separated by a comma, ' +
        'for every Podyard process; restart them; then run this again',
    );
  }
  await rotateTo(pool, keys, output);
  output.note('PODYARD_MASTER_KEY now needs only its first key. Keep the other one with older backups.');
}

async function rotateTo(pool: Pool, keys: readonly Uint8Array[], output: CliOutput): Promise<void> {
  const keyId = masterKeyId(keys[0]!);
  const rotation = await rotateMasterKey(pool, createSecretBox(keys), keyId, (count) =>
    output.note(`… ${count} values encrypted under key ${keyId}`),
  );
  refuseUnreadable(rotation);
  output.print(keyId);
}

function refuseUnreadable({ unreadable }: Rotation): void {
  if (unreadable.length === 0) return;
  throw new Error(
    `${unreadable.length} values could not be decrypted and are unchanged; all others are encrypted under the new ` +
      `key, and the old key is kept. Delete or replace them through the API, then run this again:\n${unreadable.join('\n')}`,
  );
}

/** Prevents concurrent rotations, which would end with two keys. The lock ends with its connection. */
async function withRotationLock(pool: Pool, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    const lock = [ADVISORY_LOCKS.keyRotation];
    const result = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', lock);
    if (!result.rows[0]!.locked) throw new Error('another rotation of the master key is running');
    await work().finally(() => client.query('select pg_advisory_unlock($1)', lock));
  } finally {
    client.release();
  }
}

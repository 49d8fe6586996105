import {
  type MasterKeySource,
  newMasterKey,
  readMasterKeys,
  replaceMasterKeys,
  retireMasterKeys,
} from '../core/master-key.ts';
import { createSecretBox, masterKeyId } from '../core/secret-box.ts';
import { ADVISORY_LOCKS } from '../db/advisory-locks.ts';
import type { Pool } from '../db/pool.ts';
import type { Context } from '../domain/context.ts';
import { checkMasterKey } from '../domain/secrets/check-master-key.ts';
import { type Rotation, rotateMasterKey } from '../domain/secrets/rotate-master-key.ts';
import type { CliOutput } from './cli-pieces.ts';

/**
 * Encrypts all secrets and passwords under another master key, while servers run. Keys in the file: a new one is made,
 * stands in the file before the old one while both are needed, and takes its place at the end; the old one is kept in
 * `<file>.retired` for backups that need it. Keys of the environment: the first of several is the one to go to. A run
 * that was cut off is gone on with by the next. Throws a sentence when something could not be encrypted anew.
 */
export async function rotateKey(context: Context, source: MasterKeySource, output: CliOutput): Promise<void> {
  await withRotationLock(context.pool, () =>
    source.keys ? rotateToGiven(context.pool, source.keys, output) : rotateFile(context.pool, source.file, output),
  );
}

async function rotateFile(pool: Pool, file: string, output: CliOutput): Promise<void> {
  const before = readMasterKeys(file);
  if (!before) throw new Error(`there is no ${file}: the server makes it at its first start`);
  await checkMasterKey(pool, createSecretBox(before));
  const keys = before.length > 1 ? before : [newMasterKey(), ...before];
  if (before.length > 1) output.note('A rotation was begun before: it goes on.');
  else await replaceMasterKeys(file, keys);
  await rotateTo(pool, keys, output);
  await retireMasterKeys(`${file}.retired`, keys.slice(1));
  await replaceMasterKeys(file, keys.slice(0, 1));
  output.note(`The old key is kept in ${file}.retired, for backups of before. Delete it when there are none.`);
}

async function rotateToGiven(pool: Pool, keys: readonly Uint8Array[], output: CliOutput): Promise<void> {
  await checkMasterKey(pool, createSecretBox(keys));
  if (keys.length === 1) {
    throw new Error(
      'PODYARD_MASTER_KEY holds one key: put a new one before it, with a comma between them, ' +
        'for every process of Podyard; restart them; then run this again',
    );
  }
  await rotateTo(pool, keys, output);
  output.note('PODYARD_MASTER_KEY needs only its first key now. Keep the other one with backups of before.');
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
    `${unreadable.length} values could not be opened and stay as they were; all others are encrypted under the new ` +
      `key, and the old one is kept. Delete or replace them through the API, then run this again:\n${unreadable.join('\n')}`,
  );
}

/** Two rotations at a time would lead to two keys. The lock goes with its connection, however this process ends. */
async function withRotationLock(pool: Pool, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    const lock = [ADVISORY_LOCKS.keyRotation];
    const result = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', lock);
    if (!result.rows[0]!.locked) throw new Error('another rotation of the master key is under way');
    await work().finally(() => client.query('select pg_advisory_unlock($1)', lock));
  } finally {
    client.release();
  }
}

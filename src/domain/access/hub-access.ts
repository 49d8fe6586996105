/**
 * How a workload proves to the pull-through hub which one it is: by a token in the path of its HF_ENDPOINT, because the hub's clients
 * send a token of their own in the header. It follows from the workload's id and a key of the installation, so that guesses are refused
 * without a look at the database, and ends with the workload.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { sealSecret } from '../secrets/seal-secret.ts';

const TOKEN = /^([A-Za-z0-9]{1,64})\.([\w-]{43})$/;

export class HubAccess {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Returns the token of the workload with this id. */
  tokenOf(id: string): string {
    return `${id}.${this.#mac(`workload ${id}`)}`;
  }

  /** Returns the workload's id; null for a token that this installation did not make. */
  idOf(token: string): string | null {
    const [, id, given] = TOKEN.exec(token) ?? [];
    if (id === undefined || given === undefined) return null;
    const isRight = timingSafeEqual(Buffer.from(given), Buffer.from(this.#mac(`workload ${id}`)));
    return isRight ? id : null;
  }

  /** Returns the secret between servers and the program that serves a volume's files. */
  fileServerToken(volumeId: string): string {
    return this.#mac(`files ${volumeId}`);
  }

  /** Returns a name for the holder of a hub's token. The token cannot be derived from it. */
  readerOf(userId: UserId, hubToken: string | null): string {
    return hubToken === null ? 'everybody' : this.#mac(`reader ${userId} ${hubToken}`);
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

const KEY = 'hub-key';

/** Returns the installation's key for these tokens, made at the first call. A plain one, as versions before kept it, is sealed. */
export async function openHubAccess(pool: Pool, secretBox: SecretBox): Promise<HubAccess> {
  const find = async (db: Db) =>
    (await db.query<{ value: Buffer }>('select value from sealed_settings where id = $1', [KEY])).rows[0]?.value;
  const sealed =
    (await find(pool)) ??
    (await transaction(pool, async (db) => {
      const plain = await db.query<{ value: string }>('delete from settings where key = $1 returning value', [KEY]);
      const key = plain.rows[0]?.value ?? randomBytes(32).toString('hex');
      await db.query('insert into sealed_settings (id, value) values ($1, $2) on conflict do nothing', [
        KEY,
        await sealSecret(db, secretBox, key, KEY),
      ]);
      return (await find(db))!; // another process may have been faster
    }));
  return new HubAccess(Buffer.from(secretBox.open(sealed, KEY), 'hex'));
}

/** A workload that may use the hub. */
export interface HubWorkload {
  userId: UserId;
}

/** Returns undefined for one that has ended. */
export async function findHubWorkload(db: Db, id: string): Promise<HubWorkload | undefined> {
  const result = await db.query<HubWorkload>({
    name: 'hub-workload',
    text: `select user_id as "userId" from workers where id = $1 and phase <> 'EXITED'
           union all select user_id from pods where id = $1 and wanted = 'RUN'`,
    values: [id],
  });
  return result.rows[0];
}

/**
 * How a workload proves to the pull-through hub which one it is: by a token in the path of its HF_ENDPOINT, because the hub's clients
 * send a token of their own in the header. It follows from the workload's id and a key of the installation, so that guesses are refused
 * without a look at the database, and ends with the workload.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

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

  /** Returns a name for whoever asks with a hub's token, from which the token cannot be found. */
  readerOf(userId: UserId, hubToken: string | null): string {
    return hubToken === null ? 'everybody' : this.#mac(`reader ${userId} ${hubToken}`);
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

/** Returns the installation's key for these tokens, made at the first call. */
export async function openHubAccess(db: Db): Promise<HubAccess> {
  const made = JSON.stringify(randomBytes(32).toString('hex'));
  await db.query("insert into settings (key, value) values ('hub-key', $1) on conflict do nothing", [made]);
  const result = await db.query<{ value: string }>("select value from settings where key = 'hub-key'");
  return new HubAccess(Buffer.from(result.rows[0]!.value, 'hex'));
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

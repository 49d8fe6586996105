import type { Db } from '../../db/pool.ts';
import type { RefusedKey } from '../access/secret-ring.ts';
import { authorOf, type NewEntry } from './audit-entry.ts';
import { RefusalLog } from './refusal-log.ts';

/** Entries in ten minutes. Unauthenticated requests cause them, so they have fewer than refusals of users, which they must not crowd out. */
const MAX_OF_ALL = 50;

/** Writes refused keys to the audit log: unknown ones, and those used from an address that they do not allow. */
export class RefusedKeyLog {
  readonly #log: RefusalLog;

  constructor(db: Db) {
    this.#log = new RefusalLog(db, MAX_OF_ALL);
  }

  /** Never throws: a failed write does not change the response. */
  add({ actor, address, reason }: RefusedKey): void {
    const unknown = { actorKind: 'unknown', actorId: null, keyId: null, sessionId: null, interface: 'api' } as const;
    const entry: NewEntry = {
      ...(actor === null ? unknown : authorOf(actor)),
      ...{ address, reason, operation: 'access.refuse', recordId: actor?.keyId ?? null, recordName: null },
      ...{ ownerId: actor?.userId ?? null, requestId: null, repeats: 1, changes: null },
      outcome: 'refused',
    };
    this.#log.add(entry).catch(() => {}); // what cannot be written, such as with a full disk, is in the request log
  }

  /** Writes what was only counted. */
  flush(): Promise<void> {
    return this.#log.flush();
  }
}

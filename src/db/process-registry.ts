import type { Db, Pool } from './pool.ts';

const TTL_SECONDS = 30;
/** How often a process renews its row. */
export const HEARTBEAT_MS = (TTL_SECONDS / 3) * 1000;

/** The roles of a process, for the others to know. */
export type ProcessRole = 'api' | 'data' | 'control';

/** The processes that share the database, from the table `processes`, where each renews its own row. */
export class ProcessRegistry {
  readonly #deps: { pool: Pool; processId: string; roles: readonly ProcessRole[] };
  readonly #onChange = new Set<() => void>();
  /** The backend of its connection for hints (migration 0047). */
  listenerPid: number | null = null;
  #peers: readonly { id: string; roles: readonly string[] }[] = [];
  #beating = Promise.resolve();
  #isStopped = false;

  constructor(deps: { pool: Pool; processId: string; roles: readonly ProcessRole[] }) {
    this.#deps = deps;
  }

  /** The other processes. */
  get peers(): readonly { id: string; roles: readonly string[] }[] {
    return this.#peers;
  }

  /** The processes with the role `data`, this one included if it has it, in the same order everywhere. */
  get dataProcessIds(): readonly string[] {
    const all = [...this.#peers, { id: this.#deps.processId, roles: this.#deps.roles }];
    return all.flatMap(({ id, roles }) => (roles.includes('data') ? id : [])).sort();
  }

  /** Calls `listener` when a process came or went. Returns the function that unsubscribes it. */
  onChange(listener: () => void): () => void {
    this.#onChange.add(listener);
    return () => this.#onChange.delete(listener);
  }

  /** Renews this process's row and reads the others. One at a time, so that the last read wins. `db`: over this connection. */
  beat(db: Db = this.#deps.pool): Promise<void> {
    this.#beating = this.#beating.catch(() => {}).then(() => this.#beatOnce(db));
    return this.#beating;
  }

  /** Deletes the row of another process that is known to be dead, before its time is up. */
  async forget(processId: string): Promise<void> {
    await this.#deps.pool.query('delete from processes where id = $1', [processId]);
    await this.beat();
  }

  /** Ends the heartbeats, so that the caller can delete this process's row. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#beating.catch(() => {});
  }

  async #beatOnce(db: Db): Promise<void> {
    if (this.#isStopped) return;
    const { processId, roles } = this.#deps;
    const result = await db.query<{ id: string; roles: string[] }>(
      `with gone as (delete from processes where seen_at < now() - interval '${TTL_SECONDS} seconds' and id <> $1),
            me as (insert into processes (id, seen_at, roles, listener_pid) values ($1, now(), $2, $3)
                   on conflict (id) do update set seen_at = now(), listener_pid = $3)
       select id, roles from processes
       where id <> $1 and seen_at >= now() - interval '${TTL_SECONDS} seconds'`,
      [processId, roles, this.listenerPid],
    );
    const before = new Set(this.#peers.map(({ id }) => id));
    this.#peers = result.rows;
    const isSame = before.size === this.#peers.length && this.#peers.every(({ id }) => before.has(id));
    if (!isSame) for (const listener of this.#onChange) listener();
  }
}

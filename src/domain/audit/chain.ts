/**
 * The chain of hashes over the audit log. A writing transaction knows nothing of it, so that none waits for another: the leader seals what is
 * committed, in the order of `seq`. A link holds the hash of each of its entries, and its own hash covers these and the link before. So a
 * changed, removed or inserted entry no longer fits, and to make it fit, every later link has to be written anew.
 */
import { createHash } from 'node:crypto';
import type { Db, Pool } from '../../db/pool.ts';
import { transaction } from '../../db/pool.ts';

/** Entries of one link at most. */
const MAX_LINK = 1_000;
const NOTHING = Buffer.alloc(32);

/** Hashes what an entry says. PostgreSQL writes `jsonb` one way only, and the time as microseconds since 1970. */
const ENTRY_HASH = `sha256(convert_to(jsonb_build_array(seq, (extract(epoch from at) * 1000000)::bigint, operation, record_id,
  record_name, owner_id, actor_kind, actor_id, key_id, session_id, interface, address, request_id, outcome, reason, repeats,
  changes::text)::text, 'UTF8'))`;

/**
 * The entries that no link has. A number is missing while its transaction runs, or for good when it was rolled back; no later one is sealed
 * before that is known.
 */
const UNSEALED = `select seq, ${ENTRY_HASH} as hash from audit_entries where seq > $1 order by seq limit ${MAX_LINK}`;

/**
 * Transactions that began before $1 and have the lock on the table that a number is drawn under: one of them may still commit a number that
 * was missing at $1.
 */
const WRITERS = `
  select from pg_locks l left join pg_stat_activity s on s.pid = l.pid
  where l.locktype = 'relation' and l.database = (select oid from pg_database where datname = current_database())
    and l.relation = 'audit_entries'::regclass and l.mode = 'RowExclusiveLock' and l.pid <> pg_backend_pid()
    and coalesce(s.xact_start, '-infinity') <= $1::text::timestamptz
  limit 1`;

interface Link {
  lastSeq: number;
  hash: Buffer;
}

interface HashedEntry {
  seq: number;
  hash: Buffer;
}

/** Numbers that were missing below `upto` when it was seen, by the database's clock. */
interface Gap {
  upto: number;
  seenAt: string;
}

/**
 * Seals committed entries. One instance at a time: it keeps the gaps it has seen and the last link, which are valid only while it is the
 * sole writer.
 */
export class ChainSealer {
  readonly #pool: Pool;
  #gap: Gap | null = null;
  #last: Link | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Adds at most one link. Resolves with the number of entries that it sealed, and whether it was as many as a link may have. */
  async sealNext(): Promise<{ sealed: number; isFull: boolean }> {
    const deadBelow = await this.#findDeadGap(); // before the entries are read, so that an entry that fills a gap is among them
    const last = this.#last ?? (await findLastLink(this.#pool));
    this.#last = last;
    const { rows } = await this.#pool.query<HashedEntry>({
      name: 'audit-unsealed',
      text: UNSEALED,
      values: [last.lastSeq],
    });
    const ready = beforeGap(rows, last.lastSeq, deadBelow);
    if (ready.length > 0) {
      this.#last = undefined; // whether an insert that fails was committed is unknown
      this.#last = await insertLink(this.#pool, last, ready);
    }
    if (ready.length < rows.length) this.#gap ??= { upto: rows.at(-1)!.seq, seenAt: await this.#now() };
    return { sealed: ready.length, isFull: ready.length === MAX_LINK };
  }

  /** Numbers that are missing below the result are missing for good: every transaction that could have had one is over. */
  async #findDeadGap(): Promise<number> {
    if (this.#gap === null) return 0;
    const { upto, seenAt } = this.#gap;
    const writers = await this.#pool.query(WRITERS, [seenAt]);
    if (writers.rowCount !== 0) return 0;
    this.#gap = null;
    return upto;
  }

  async #now(): Promise<string> {
    const { rows } = await this.#pool.query<{ at: string }>('select clock_timestamp()::text as at');
    return rows[0]!.at;
  }
}

/** Returns the entries before the first gap that may still be filled. */
function beforeGap(entries: readonly HashedEntry[], lastSeq: number, deadBelow: number): HashedEntry[] {
  let before = lastSeq;
  for (const [i, { seq }] of entries.entries()) {
    if (seq !== before + 1 && seq > deadBelow) return entries.slice(0, i);
    before = seq;
  }
  return [...entries];
}

async function findLastLink(db: Db): Promise<Link> {
  const { rows } = await db.query<Link>(
    'select last_seq as "lastSeq", hash from audit_seals order by last_seq desc limit 1',
  );
  return rows[0] ?? (await findExpiredHead(db)) ?? { lastSeq: 0, hash: NOTHING };
}

/** The link to continue from if retention has removed all of them: retention's own entry, not yet linked, names it. */
async function findExpiredHead(db: Db): Promise<Link | undefined> {
  const { rows } = await db.query<{ upto: number; head: string }>(
    `select (changes -> 'upto' ->> 1)::bigint as upto, changes -> 'head' ->> 1 as head from audit_entries
     where operation = 'audit.expire' order by seq desc limit 1`,
  );
  return rows[0] && { lastSeq: rows[0].upto, hash: Buffer.from(rows[0].head, 'hex') };
}

async function insertLink(pool: Pool, previous: Link, entries: readonly HashedEntry[]): Promise<Link> {
  const seqs = entries.map(({ seq }) => seq);
  const hashes = entries.map(({ hash }) => hash);
  const link = { lastSeq: seqs.at(-1)!, hash: hashLink(previous.hash, seqs, hashes) };
  await pool.query('insert into audit_seals (last_seq, seqs, hashes, previous, hash) values ($1, $2, $3, $4, $5)', [
    link.lastSeq,
    seqs,
    hashes,
    previous.hash,
    link.hash,
  ]);
  return link;
}

function hashLink(previous: Buffer, seqs: readonly number[], hashes: readonly Buffer[]): Buffer {
  const hash = createHash('sha256').update(previous);
  for (const [i, seq] of seqs.entries()) hash.update(`${seq} `).update(hashes[i]!);
  return hash.digest();
}

/** A fault of the chain, in words. */
interface ChainFault {
  /** Number of the entry, or the last one of a link. */
  seq: number;
  fault: string;
}

export interface ChainReport {
  /** Those that were compared. */
  entries: number;
  /** Not sealed yet: written in the last seconds, or no leader runs. */
  unsealed: number;
  /** The hash of the newest link: keep it elsewhere, and compare later. Null: nothing is sealed. */
  head: string | null;
  /** At most MAX_FAULTS. */
  faults: ChainFault[];
}

const MAX_FAULTS = 100;

interface Seal {
  lastSeq: number;
  seqs: number[];
  hashes: Buffer[];
  previous: Buffer;
  hash: Buffer;
}

/**
 * Compares every entry with the chain, in one view of the database. `knownHead`: a head of an earlier report; it must still be in the chain, so
 * that not even all links can have been written anew.
 */
export function verifyChain(pool: Pool, { knownHead }: { knownHead?: string } = {}): Promise<ChainReport> {
  return transaction(pool, async (db) => {
    await db.query('set transaction isolation level repeatable read, read only');
    const faults: ChainFault[] = [];
    let entries = 0;
    let last: Link | null = null;
    let hasKnown = knownHead === undefined;
    const sent = await readSent(db);
    for await (const seal of readSeals(db)) {
      faults.push(...(last === null ? await findFirstFaults(db, seal) : findLinkFaults(last, seal)));
      faults.push(...(await findEntryFaults(db, last?.lastSeq ?? Number.MIN_SAFE_INTEGER, seal)));
      entries += seal.seqs.length;
      last = seal;
      hasKnown ||= seal.hash.toString('hex') === knownHead;
      for (const seq of seal.seqs) sent.delete(seq);
      if (faults.length >= MAX_FAULTS) break;
    }
    for (const [seq, kind] of sent) {
      faults.push({ seq, fault: `it was sent to ${kind}, and is gone: links at the end were removed` });
    }
    if (!hasKnown) {
      faults.push({
        seq: last?.lastSeq ?? 0,
        fault: 'no link has the hash that was given: links were removed or written anew',
      });
    }
    const { rows } = await db.query<{ unsealed: number }>(
      'select count(*) as unsealed from audit_entries where seq > $1',
      [last?.lastSeq ?? 0],
    );
    const { unsealed } = rows[0]!;
    return { entries, unsealed, head: last?.hash.toString('hex') ?? null, faults: faults.slice(0, MAX_FAULTS) };
  });
}

/** The last entry that each stream has sent, unless retention removed it: only what has a link is sent. */
async function readSent(db: Db): Promise<Map<number, string>> {
  const { rows } = await db.query<{ seq: number; kind: string }>(
    'select delivered_seq as seq, kind from audit_stream where delivered_seq > $1 order by kind',
    [(await findExpiredHead(db))?.lastSeq ?? 0],
  );
  return new Map(rows.map(({ seq, kind }) => [seq, kind]));
}

async function* readSeals(db: Db): AsyncGenerator<Seal> {
  let after = -1;
  for (;;) {
    const { rows } = await db.query<Seal>(
      `select last_seq as "lastSeq", seqs::float8[] as seqs, hashes, previous, hash from audit_seals
       where last_seq > $1 order by last_seq limit 10`,
      [after],
    );
    yield* rows;
    if (rows.length === 0) return;
    after = rows.at(-1)!.lastSeq;
  }
}

function findLinkFaults(last: Link, seal: Seal): ChainFault[] {
  if (!seal.previous.equals(last.hash)) {
    return [
      { seq: seal.lastSeq, fault: 'its link does not follow the one before: a link was changed, removed or inserted' },
    ];
  }
  return findSealFaults(seal);
}

function findSealFaults({ lastSeq, previous, seqs, hashes, hash }: Seal): ChainFault[] {
  if (hashLink(previous, seqs, hashes).equals(hash)) return [];
  return [{ seq: lastSeq, fault: 'its link was changed' }];
}

/** The oldest link follows nothing, or what retention removed, as its newest entry says. */
async function findFirstFaults(db: Db, seal: Seal): Promise<ChainFault[]> {
  const expired = await findExpiredHead(db);
  const expected = expired?.hash ?? NOTHING;
  if (!seal.previous.equals(expected)) {
    return [
      {
        seq: seal.lastSeq,
        fault: 'the oldest link does not begin the chain: links were removed, and not by retention',
      },
    ];
  }
  return findSealFaults(seal);
}

async function findEntryFaults(db: Db, after: number, seal: Seal): Promise<ChainFault[]> {
  const { rows } = await db.query<HashedEntry>({
    name: 'audit-sealed',
    text: `select seq, ${ENTRY_HASH} as hash from audit_entries where seq > $1 and seq <= $2 order by seq`,
    values: [after, seal.lastSeq],
  });
  const found = new Map(rows.map(({ seq, hash }) => [seq, hash]));
  const sealed = new Set(seal.seqs);
  return [
    ...seal.seqs.flatMap((seq, i) => {
      const hash = found.get(seq);
      if (hash === undefined) return [{ seq, fault: 'it was removed' }];
      return hash.equals(seal.hashes[i]!) ? [] : [{ seq, fault: 'it was changed' }];
    }),
    ...rows.flatMap(({ seq }) => (sealed.has(seq) ? [] : [{ seq, fault: 'it was inserted later' }])),
  ];
}

import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Pool } from './pool.ts';

/**
 * Hints between the parts of Podyard. Inside a process a hint is a function call; to other processes it travels by
 * NOTIFY, and only while other processes exist. A hint may be lost: whoever listens must also look at the table now and then.
 */
export interface HintTopics {
  /** An endpoint's row changed, or it is gone. Payload: endpoint id. */
  endpoint: string;
  /** Jobs of an endpoint were queued or ended while the scaler may have to act. Payload: endpoint id. */
  demand: string;
  /** A job was queued, and no worker of the submitting process waits for one. Payload: endpoint id. */
  queued: string;
  /** A worker's row changed (wanted state, readiness). Payload: worker id. */
  worker: string;
  /** A pod's row changed: what is wanted of it, its status, its address or its ports. Payload: pod id. */
  pod: string;
  /** A job has to be stopped inside a worker. Payload: worker id. */
  jobStop: string;
  /** A job reached a terminal state or streamed a chunk, and another process waits for it. Payload: process id, blank, job id. */
  job: string;
  /** Log lines of a workload were stored. Payload: workload id. */
  log: string;
  /** A key was made, changed or revoked. Payload: key id. */
  key: string;
  /** A secret was made or changed: what waits for it can start. Payload: user id. */
  secret: string;
  /** A network volume was deleted: its files can go. Payload: volume id. */
  volume: string;
  /** A webhook waits to be delivered. Payload: empty. */
  webhook: string;
  /** What is simulated changed, or an incident waits. Payload: empty. */
  simulation: string;
  /** A Podyard process came or went. Payload: process id. */
  process: string;
}
export type HintTopic = keyof HintTopics;

const CHANNEL = 'podyard';
const PROCESS_TTL_SECONDS = 30;
const BEAT_MS = (PROCESS_TTL_SECONDS / 3) * 1000;
const LISTEN_AGAIN_MS = 500;
const SEND_AGAIN_MS = 200;
/** A database that is away for long: of older hints the tables tell. */
const MAX_PENDING = 10_000;

/** Of interest to processes with the role `data` alone. */
const DATA_TOPICS: ReadonlySet<HintTopic> = new Set(['queued', 'job', 'jobStop']);
/**
 * Hints that can come with every job. They leave at once after a quiet moment, but no sooner than so many ms after the
 * last NOTIFY: the server passes them through one lock for all, and each wakes every process.
 */
const PACE_MS: { readonly [Topic in HintTopic]?: number } = { queued: 2, demand: 10 };

/** What a process does, as the others have to know it. */
export type ProcessRole = 'api' | 'data' | 'control';

/**
 * Knows which processes there are, and carries hints between them. What it knows is right but for a moment after one came
 * or went; while nothing can be heard of them, everything is sent.
 */
export class Bus {
  readonly processId: string;
  readonly #pool: Pool;
  readonly #databaseUrl: string;
  readonly #roles: readonly ProcessRole[];
  readonly #logger: Logger;
  readonly #local = new EventEmitter().setMaxListeners(0);
  readonly #onGap = new Set<() => void>();
  readonly #onPeers = new Set<() => void>();
  readonly #pending = new Set<string>();
  /** When the pending hints are due, as `performance.now` counts. */
  #dueAt = 0;
  #wakesAt = 0;
  #client: pg.Client | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #paceTimer: NodeJS.Timeout | undefined;
  #sentAt = 0;
  #isSending = false;
  /** Hints could not be sent. */
  #isLate = false;
  #isStopped = false;
  #isDeaf = true;
  #beating = Promise.resolve();
  #peers: readonly { id: string; roles: readonly string[] }[] = [];

  /** `roles`: what this process does; none for a command that works on the database beside the servers. */
  constructor(options: {
    pool: Pool;
    databaseUrl: string;
    processId: string;
    roles?: readonly ProcessRole[];
    logger: Logger;
  }) {
    this.#pool = options.pool;
    this.#databaseUrl = options.databaseUrl;
    this.processId = options.processId;
    this.#roles = options.roles ?? [];
    this.#logger = options.logger;
  }

  async start(): Promise<void> {
    await this.#listen();
    await this.#beat();
    this.#heartbeat = setInterval(() => void this.#checkUp(), BEAT_MS);
    this.#heartbeat.unref();
    this.#send('process', this.processId);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#paceTimer);
    await this.#beating.catch(() => {});
    await this.#pool
      .query(
        `with gone as (delete from processes where id = $1)
         select pg_notify('${CHANNEL}', m) from unnest($2::text[]) m`,
        [this.processId, [...this.#pending, this.#message('process', this.processId)]],
      )
      .catch(() => {});
    await this.#client?.end().catch(() => {});
  }

  /** Another process is dead, and will not say so itself: nobody has to wait until its time is up. */
  async bury(processId: string): Promise<void> {
    await this.#pool.query('delete from processes where id = $1', [processId]);
    await this.#beat();
    this.#send('process', processId);
  }

  /** True while another Podyard process shares the database. */
  get hasPeers(): boolean {
    return this.#isDeaf || this.#peers.length > 0;
  }

  /** True while another process serves the data plane: it may hold the workers or the clients of a job. */
  get hasDataPeers(): boolean {
    return this.#isDeaf || this.#peers.some(({ roles }) => roles.includes('data'));
  }

  /** The processes that serve the data plane, this one included if it does, in the same order everywhere. */
  get dataProcessIds(): readonly string[] {
    const all = [...this.#peers, { id: this.processId, roles: this.#roles }];
    return all.flatMap(({ id, roles }) => (roles.includes('data') ? id : [])).sort();
  }

  /** Calls the local listeners now, and those of other processes soon. */
  publish(topic: HintTopic, payload: string): void {
    this.#local.emit(topic, payload);
    this.tellPeers(topic, payload);
  }

  /** For what this process knows already. */
  tellPeers(topic: HintTopic, payload: string): void {
    if (DATA_TOPICS.has(topic) ? this.hasDataPeers : this.hasPeers) this.#send(topic, payload);
  }

  /** Returns the function that ends the subscription. */
  subscribe(topic: HintTopic, listener: (payload: string) => void): () => void {
    this.#local.on(topic, listener);
    return () => this.#local.off(topic, listener);
  }

  /** `listener` is called when hints of others may have been missed: whoever waits for one has to look. */
  onGap(listener: () => void): () => void {
    this.#onGap.add(listener);
    return () => this.#onGap.delete(listener);
  }

  /** `listener` is called when a process came or went. */
  onPeers(listener: () => void): () => void {
    this.#onPeers.add(listener);
    return () => this.#onPeers.delete(listener);
  }

  #message(topic: HintTopic, payload: string): string {
    return JSON.stringify([this.processId, topic, payload]);
  }

  /** Hints given while a NOTIFY is under way leave together with the next one, each only once. */
  #send(topic: HintTopic, payload: string): void {
    if (this.#pending.size >= MAX_PENDING) this.#pending.clear();
    this.#pending.add(this.#message(topic, payload));
    const dueAt = this.#sentAt + (PACE_MS[topic] ?? 0);
    this.#dueAt = this.#pending.size === 1 ? dueAt : Math.min(this.#dueAt, dueAt);
    this.#sendDue();
  }

  #sendDue(): void {
    if (this.#isSending || this.#isStopped || this.#pending.size === 0) return;
    const waitMs = this.#dueAt - performance.now();
    if (waitMs > 0) {
      if (this.#paceTimer && this.#wakesAt <= this.#dueAt) return;
      clearTimeout(this.#paceTimer);
      this.#wakesAt = this.#dueAt;
      this.#paceTimer = setTimeout(() => {
        this.#paceTimer = undefined; // it may have come a little early: then there is another one
        this.#sendDue();
      }, waitMs);
      return;
    }
    clearTimeout(this.#paceTimer);
    this.#paceTimer = undefined;
    this.#isSending = true;
    void this.#sendPending();
  }

  async #sendPending(): Promise<void> {
    const messages = [...this.#pending];
    this.#pending.clear();
    this.#sentAt = performance.now();
    try {
      await this.#pool.query({
        name: 'notify',
        text: `select pg_notify('${CHANNEL}', m) from unnest($1::text[]) m`,
        values: [messages],
      });
      this.#isLate = false;
    } catch (error) {
      if (!this.#isLate) this.#logger.warn({ err: error }, `hints have to wait: ${messageOf(error)}`);
      this.#isLate = true;
      for (const message of messages) this.#pending.add(message); // perhaps they left; twice does no harm
      this.#dueAt = 0;
      await sleep(SEND_AGAIN_MS, undefined, { ref: false });
    }
    this.#isSending = false;
    this.#sendDue();
  }

  async #listen(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#databaseUrl,
      application_name: 'podyard bus',
      connectionTimeoutMillis: BEAT_MS,
    });
    this.#client = client;
    client.on('error', () => {});
    client.on('end', () => this.#listenAgain());
    client.on('notification', (message) => this.#receive(message.payload ?? ''));
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    this.#isDeaf = false;
  }

  #listenAgain(): void {
    this.#isDeaf = true;
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      // A failed connect ends the client, which brings us here again.
      this.#listen().then(
        () => this.#catchUp(),
        () => {},
      );
    }, LISTEN_AGAIN_MS);
    timer.unref();
  }

  /** Who came or went, and what was said, while nothing could be heard. */
  async #catchUp(): Promise<void> {
    this.#logger.info({}, 'listening to other processes again');
    await this.#beat().catch(() => {});
    for (const listener of this.#onGap) listener();
  }

  #receive(text: string): void {
    const hint = parseHint(text);
    if (hint === undefined || hint.from === this.processId) return;
    if (hint.topic === 'process') void this.#beat().catch(() => {});
    // An emitter throws at a topic named "error" that nobody listens to, and a newer version may know topics we do not.
    if (this.#local.listenerCount(hint.topic) > 0) this.#local.emit(hint.topic, hint.payload);
  }

  /** A connection that is dead without having ended says nothing, as a quiet one does: it is asked. */
  async #checkUp(): Promise<void> {
    const client = this.#client;
    void this.#beat().catch(() => {});
    if (this.#isDeaf || client === undefined) return;
    const answered = client.query('select 1').then(
      () => true,
      () => false,
    );
    const isAlive = await Promise.race([answered, sleep(BEAT_MS / 2, false, { ref: false })]);
    if (!isAlive && client === this.#client) void client.end().catch(() => {});
  }

  /** One after the other: what is read last is what counts. */
  #beat(): Promise<void> {
    this.#beating = this.#beating.catch(() => {}).then(() => this.#beatOnce());
    return this.#beating;
  }

  async #beatOnce(): Promise<void> {
    if (this.#isStopped) return;
    const result = await this.#pool.query<{ id: string; roles: string[] }>(
      `with gone as (delete from processes where seen_at < now() - interval '${PROCESS_TTL_SECONDS} seconds' and id <> $1),
            me as (insert into processes (id, seen_at, roles) values ($1, now(), $2)
                   on conflict (id) do update set seen_at = now())
       select id, roles from processes
       where id <> $1 and seen_at >= now() - interval '${PROCESS_TTL_SECONDS} seconds'`,
      [this.processId, this.#roles],
    );
    const known = this.#peers.map(({ id }) => id);
    this.#peers = result.rows;
    const isSame = known.length === this.#peers.length && this.#peers.every(({ id }) => known.includes(id));
    if (!isSame) for (const listener of this.#onPeers) listener();
  }
}

/** Undefined for what no Podyard sent: anyone who may use the database may notify. */
function parseHint(text: string): { from: string; topic: string; payload: string } | undefined {
  try {
    const [from, topic, payload] = JSON.parse(text) as unknown[];
    if (typeof from !== 'string' || typeof topic !== 'string' || typeof payload !== 'string') return undefined;
    return { from, topic, payload };
  } catch {
    return undefined;
  }
}

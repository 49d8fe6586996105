import { EventEmitter } from 'node:events';
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
  /** A job was queued that no worker of the submitting process took. Payload: endpoint id. */
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

export class Bus {
  readonly processId: string;
  readonly #pool: Pool;
  readonly #databaseUrl: string;
  readonly #logger: Logger;
  readonly #local = new EventEmitter().setMaxListeners(0);
  readonly #pending = new Set<string>();
  #client: pg.Client | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #isSending = false;
  #isStopped = false;
  #hasPeers = true;

  constructor(options: { pool: Pool; databaseUrl: string; processId: string; logger: Logger }) {
    this.#pool = options.pool;
    this.#databaseUrl = options.databaseUrl;
    this.processId = options.processId;
    this.#logger = options.logger;
  }

  async start(): Promise<void> {
    await this.#listen();
    await this.#beat();
    this.#heartbeat = setInterval(() => void this.#beat().catch(() => {}), (PROCESS_TTL_SECONDS / 3) * 1000);
    this.#heartbeat.unref();
    this.#send('process', this.processId);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#heartbeat);
    await this.#pool.query('delete from processes where id = $1', [this.processId]).catch(() => {});
    await this.#client?.end().catch(() => {});
  }

  /** True while another Podyard process shares the database. */
  get hasPeers(): boolean {
    return this.#hasPeers;
  }

  /** Calls the local listeners now, and those of other processes soon. */
  publish(topic: HintTopic, payload: string): void {
    this.#local.emit(topic, payload);
    if (this.#hasPeers) this.#send(topic, payload);
  }

  /** Returns the function that ends the subscription. */
  subscribe(topic: HintTopic, listener: (payload: string) => void): () => void {
    this.#local.on(topic, listener);
    return () => this.#local.off(topic, listener);
  }

  /** Hints given while a NOTIFY is under way leave together with the next one, each only once. */
  #send(topic: HintTopic, payload: string): void {
    this.#pending.add(JSON.stringify([this.processId, topic, payload]));
    if (this.#isSending) return;
    this.#isSending = true;
    void this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#pending.size > 0) {
      const messages = [...this.#pending];
      this.#pending.clear();
      await this.#pool
        .query(`select pg_notify('${CHANNEL}', m) from unnest($1::text[]) m`, [messages])
        .catch((error) => this.#logger.warn({ err: error }, `hints were lost: ${messageOf(error)}`));
    }
    this.#isSending = false;
  }

  async #listen(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#databaseUrl, application_name: 'podyard bus' });
    this.#client = client;
    client.on('error', () => {});
    client.on('end', () => this.#listenAgain());
    client.on('notification', (message) => this.#receive(message.payload ?? ''));
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
  }

  #listenAgain(): void {
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#listen().catch(() => {}); // a failed connect ends the client, which brings us here again
    }, 500);
    timer.unref();
  }

  #receive(text: string): void {
    const hint = parseHint(text);
    if (hint === undefined || hint.from === this.processId) return;
    if (hint.topic === 'process') void this.#beat().catch(() => {});
    // An emitter throws at a topic named "error" that nobody listens to, and a newer version may know topics we do not.
    if (this.#local.listenerCount(hint.topic) > 0) this.#local.emit(hint.topic, hint.payload);
  }

  async #beat(): Promise<void> {
    const result = await this.#pool.query<{ peers: number }>(
      `with gone as (delete from processes where seen_at < now() - interval '${PROCESS_TTL_SECONDS} seconds' and id <> $1),
            me as (insert into processes (id, seen_at) values ($1, now())
                   on conflict (id) do update set seen_at = now())
       select count(*) as peers from processes
       where id <> $1 and seen_at >= now() - interval '${PROCESS_TTL_SECONDS} seconds'`,
      [this.processId],
    );
    this.#hasPeers = result.rows[0]!.peers > 0;
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

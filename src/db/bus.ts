import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { BoundedSet } from '../core/bounded-map.ts';
import { monotonicClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { connectionOptions, destroyConnection } from './connection-options.ts';
import { DATA_TOPICS, formatHint, HINT_CHANNEL, type HintTopic, parseHint } from './hints.ts';
import type { Pool } from './pool.ts';
import { HEARTBEAT_MS, ProcessRegistry, type ProcessRole } from './process-registry.ts';
import { sqlState } from './sql-state.ts';

const RECONNECT_MS = 500;

/**
 * Carries hints inside this process, by function calls, and between processes, by NOTIFY. Also knows which other processes
 * there are: with none, nothing is sent; while the connection is lost, everything is.
 */
export class Bus {
  readonly processId: string;
  readonly #deps: { pool: Pool; databaseUrl: string; logger: Logger };
  readonly #local = new EventEmitter().setMaxListeners(0);
  readonly #onGap = new Set<() => void>();
  readonly #sender: HintSender;
  readonly #processes: ProcessRegistry;
  #client: pg.Client | undefined;
  #isListening = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** `roles`: what this process does; none for a command that uses the database beside the servers. */
  constructor(options: {
    pool: Pool;
    databaseUrl: string;
    processId: string;
    roles?: readonly ProcessRole[];
    logger: Logger;
  }) {
    const { pool, processId, roles = [] } = options;
    this.processId = processId;
    this.#deps = options;
    this.#sender = new HintSender(options);
    this.#processes = new ProcessRegistry({ pool, processId, roles });
  }

  async start(): Promise<void> {
    await this.#listen();
    await this.#processes.beat();
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
    this.#send('process', this.processId);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#heartbeat);
    const pending = this.#sender.stop();
    await this.#processes.stop();
    await this.#deps.pool
      .query(
        `with gone as (delete from processes where id = $1)
         select pg_notify('${HINT_CHANNEL}', m) from unnest($2::text[]) m`,
        [this.processId, [...pending, formatHint(this.processId, 'process', this.processId)]],
      )
      .catch(() => {});
    await this.#client?.end().catch(() => {});
  }

  /** Forgets a process that is known to be dead, so that no caller waits until its heartbeat times out. */
  async forgetProcess(processId: string): Promise<void> {
    await this.#processes.forget(processId);
    this.#send('process', processId);
  }

  /** True while another Podyard process shares the database. */
  get hasPeers(): boolean {
    return !this.#isListening || this.#processes.peers.length > 0;
  }

  /** True while another process serves the data plane: it may hold the workers or the clients of a job. */
  get hasDataPeers(): boolean {
    return !this.#isListening || this.#processes.peers.some(({ roles }) => roles.includes('data'));
  }

  /** The processes that serve the data plane, this one included if it does, in the same order everywhere. */
  get dataProcessIds(): readonly string[] {
    return this.#processes.dataProcessIds;
  }

  /** Calls the local listeners now and those of other processes soon. */
  publish(topic: HintTopic, payload: string): void {
    this.#local.emit(topic, payload);
    this.notifyPeers(topic, payload);
  }

  /** Calls the listeners of other processes only. `pauseMs`: how long after the same hint it is sent again, 100 at most. */
  notifyPeers(topic: HintTopic, payload: string, { pauseMs }: { pauseMs?: number } = {}): void {
    if (DATA_TOPICS.has(topic) ? this.hasDataPeers : this.hasPeers) this.#send(topic, payload, pauseMs);
  }

  /** Returns the function that ends the subscription. */
  subscribe(topic: HintTopic, listener: (payload: string) => void): () => void {
    this.#local.on(topic, listener);
    return () => this.#local.off(topic, listener);
  }

  /** Calls `listener` when hints of other processes may have been missed, so that it polls. Returns the unsubscribe function. */
  onGap(listener: () => void): () => void {
    this.#onGap.add(listener);
    return () => this.#onGap.delete(listener);
  }

  /** Calls `listener` when a process came or went. Returns the unsubscribe function. */
  onPeers(listener: () => void): () => void {
    return this.#processes.onChange(listener);
  }

  #send(topic: HintTopic, payload: string, pauseMs?: number): void {
    this.#sender.send(topic, formatHint(this.processId, topic, payload), pauseMs);
  }

  async #listen(): Promise<void> {
    const { databaseUrl } = this.#deps;
    const client = new pg.Client(
      connectionOptions({ databaseUrl, applicationName: 'podyard bus', connectTimeoutMs: HEARTBEAT_MS }),
    );
    this.#client = client;
    client.on('error', () => {});
    client.on('end', () => this.#reconnect());
    client.on('notification', (message) => this.#receive(message.payload ?? ''));
    await client.connect();
    const results: unknown = await client.query(`listen ${HINT_CHANNEL}; select pg_backend_pid() as pid`);
    const own = (results as pg.QueryResult<{ pid: number }>[]).at(-1)!;
    this.#processes.listenerPid = own.rows[0]!.pid;
    this.#isListening = true;
  }

  #reconnect(): void {
    this.#isListening = false;
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      // A failed connect ends the client, which calls this method again.
      this.#listen().then(
        () => this.#catchUp(),
        () => {},
      );
    }, RECONNECT_MS);
    timer.unref();
  }

  async #catchUp(): Promise<void> {
    this.#deps.logger.info({}, 'reconnected to the hints of other processes');
    await this.#processes.beat().catch(() => {});
    for (const listener of this.#onGap) listener();
  }

  #receive(text: string): void {
    const hint = parseHint(text);
    if (hint === undefined || hint.from === this.processId) return;
    if (hint.topic === 'process') void this.#processes.beat().catch(() => {});
    // An emitter throws at a topic named "error" without a listener, and a newer version may send topics unknown here.
    if (this.#local.listenerCount(hint.topic) > 0) this.#local.emit(hint.topic, hint.payload);
  }

  /** Renews the heartbeat over the connection for hints, to probe that too: a dead one that never ended is as silent as a quiet one. */
  async #beat(): Promise<void> {
    const client = this.#isListening ? this.#client : undefined;
    const answered = this.#processes.beat(client).then(
      () => true,
      (error) => sqlState(error) !== undefined, // refused, as with a full disk
    );
    if (client === undefined) return;
    const isAlive = await Promise.race([answered, sleep(HEARTBEAT_MS / 2, false, { ref: false })]);
    if (!isAlive && client === this.#client) destroyConnection(client);
  }
}

const RETRY_MS = 200;
/** During a long outage of the database the oldest hints are dropped: their readers poll the tables. */
const MAX_PENDING = 10_000;

/**
 * Topics with a hint for every job, and the pause after the last NOTIFY before one of them is sent, in ms. After a longer
 * quiet it is sent at once. PostgreSQL serializes all NOTIFYs with one lock, and each wakes every process.
 */
const PACE_MS: { readonly [Topic in HintTopic]?: number } = { queued: 2, demand: 10 };
/**
 * The longest pause after which the same hint is sent again, and that of hints about demand: the scaler looks at a busy endpoint
 * four times a second. Under load every NOTIFY would otherwise repeat the one before.
 */
const REPEAT_MS = 100;

/** Sends hints to other processes by NOTIFY. Those that gather while one is in flight go together, each only once. */
export class HintSender {
  readonly #deps: { pool: Pool; logger: Logger };
  readonly #pending = new BoundedSet<string>(MAX_PENDING);
  /** When the pending hints are due, by the monotonic clock. */
  #dueAt = 0;
  #sentAt = 0;
  #timer: { handle: NodeJS.Timeout; at: number } | undefined;
  /** When a hint was sent in the last REPEAT_MS. */
  readonly #lately = new Map<string, number>();
  #isSending = false;
  #isFailing = false;
  #isStopped = false;

  constructor(deps: { pool: Pool; logger: Logger }) {
    this.#deps = deps;
  }

  send(topic: HintTopic, message: string, pauseMs = topic === 'demand' ? REPEAT_MS : 0): void {
    const canRepeatAt = pauseMs === 0 ? 0 : (this.#lately.get(message) ?? 0) + pauseMs;
    const dueAt = Math.max(this.#sentAt + (PACE_MS[topic] ?? 0), canRepeatAt);
    this.#dueAt = this.#pending.size === 0 ? dueAt : Math.min(this.#dueAt, dueAt);
    this.#pending.add(message);
    this.#sendDue();
  }

  /** Stops sending; returns the hints that are still pending. */
  stop(): string[] {
    this.#isStopped = true;
    this.#clearTimer();
    return [...this.#pending];
  }

  #sendDue(): void {
    if (this.#isSending || this.#isStopped || this.#pending.size === 0) return;
    const waitMs = this.#dueAt - monotonicClock.now();
    if (waitMs > 0) {
      this.#sendIn(waitMs);
      return;
    }
    this.#clearTimer();
    this.#isSending = true;
    void this.#sendPending();
  }

  #sendIn(waitMs: number): void {
    if (this.#timer && this.#timer.at <= this.#dueAt) return;
    this.#clearTimer();
    const handle = setTimeout(() => {
      this.#timer = undefined;
      this.#sendDue(); // a timer may fire slightly early; then this sets another one
    }, waitMs);
    this.#timer = { handle, at: this.#dueAt };
  }

  #clearTimer(): void {
    clearTimeout(this.#timer?.handle);
    this.#timer = undefined;
  }

  async #sendPending(): Promise<void> {
    const messages = [...this.#pending];
    this.#pending.clear();
    this.#sentAt = monotonicClock.now();
    for (const [message, at] of this.#lately) if (at <= this.#sentAt - REPEAT_MS) this.#lately.delete(message);
    for (const message of messages) this.#lately.set(message, this.#sentAt);
    try {
      await this.#deps.pool.query({
        name: 'notify',
        text: `select pg_notify('${HINT_CHANNEL}', m) from unnest($1::text[]) m`,
        values: [messages],
      });
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#deps.logger.warn({ err: error }, `hints could not be sent yet: ${messageOf(error)}`);
      this.#isFailing = true;
      for (const message of messages) this.#pending.add(message); // they may have been sent; a second time does no harm
      this.#dueAt = 0;
      await sleep(RETRY_MS, undefined, { ref: false });
    }
    this.#isSending = false;
    this.#sendDue();
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Api, ApiError, type Job } from '../e2e/api.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import type { Random } from './random.ts';

const TERMINAL = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT']);
/** Short, because a server that was killed never answers. */
const CLIENT_TIMEOUT_MS = 8_000;
/** A server that answers no one for this long does not come back. */
const ANSWERS_TIMEOUT_MS = 60_000;
/** Attempts of a retrying client after the load is over, if the server stays away. */
const LAST_TRIES = 100;

/** A job that the server accepted with 200. */
export interface Accepted {
  id: string;
  endpointId: string;
  /** The expected output, unique to this job. */
  token: string;
  hasKey: boolean;
  /** The first terminal state in any answer. */
  reported?: { status: string; output?: unknown; error?: string };
}

/**
 * Clients that keep working while things are killed. A third of them retry with an Idempotency-Key until they get an answer, a third
 * submit and remember what was accepted, a third wait with runsync. Some cancel, some read statuses.
 */
export class Load {
  readonly accepted: Accepted[] = [];
  /** Answers that no client may ever see. */
  readonly faults: string[] = [];
  failedRequests = 0;
  readonly #api: Api;
  readonly #endpointIds: readonly string[];
  readonly #random: Random;
  readonly #name: string;
  #isOver = false;
  #onAccepted = () => {};
  #clients: Promise<void>[] = [];

  /** `name` tells these clients from others on the same endpoints. */
  constructor(server: ServerProcess, endpointIds: readonly string[], random: Random, name = '') {
    this.#name = name;
    this.#api = new Api(server);
    this.#endpointIds = endpointIds;
    this.#random = random;
  }

  start(clients: number): void {
    const kinds = [this.#submitOnce, this.#submitWithKey, this.#runSync];
    this.#clients = Array.from({ length: clients }, (_, i) => this.#client(i, kinds[i % kinds.length]!.bind(this)));
    this.#clients.push(this.#onlooker());
  }

  /** Resolves when `count` more jobs have been accepted, so that a kill hits work in progress on any machine. */
  async answers(count: number): Promise<void> {
    const goal = this.accepted.length + count;
    const deadline = AbortSignal.timeout(ANSWERS_TIMEOUT_MS);
    while (this.accepted.length < goal) {
      await new Promise<void>((resolve, reject) => {
        this.#onAccepted = resolve;
        deadline.onabort = () => reject(new Error(`${goal - this.accepted.length} of ${count} jobs were not answered`));
      });
    }
  }

  /** Stops the clients once they have finished what they began. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  /** Records the state in an answer; a terminal state must never change. `hadEnded`: known before the question was asked. */
  record(job: Accepted, answer: Job, hadEnded = job.reported !== undefined): void {
    if (!TERMINAL.has(answer.status)) {
      if (hadEnded) this.faults.push(`${job.id} was ${job.reported?.status} and is ${answer.status} again`);
      return;
    }
    const reported = { status: answer.status, output: answer.output, ...(answer.error ? { error: answer.error } : {}) };
    if (job.reported && JSON.stringify(job.reported) !== JSON.stringify(reported))
      this.faults.push(
        `${job.id} was reported as ${JSON.stringify(job.reported)}, then as ${JSON.stringify(reported)}`,
      );
    job.reported ??= reported;
  }

  async #client(number: number, submit: (token: string, endpointId: string) => Promise<void>): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      try {
        await submit(`${this.#name}${number}/${i}`, this.#random.pick(this.#endpointIds));
      } catch (error) {
        this.#forgive(error);
        await sleep(50);
      }
      await sleep(this.#random.between(0, 20));
    }
  }

  async #submitOnce(token: string, endpointId: string): Promise<void> {
    const { id } = await this.#post(endpointId, 'run', token);
    const job = this.#accept(id, endpointId, token, false);
    if (this.#random.next() >= 0.1) return;
    const answer = await this.#api.call<Job>('POST', `/v2/${endpointId}/cancel/${id}`, {}, { timeoutMs: 5_000 });
    this.record(job, answer);
  }

  async #submitWithKey(token: string, endpointId: string): Promise<void> {
    for (let tries = 0; !this.#isOver || tries < LAST_TRIES; tries++) {
      try {
        const { id } = await this.#post(endpointId, 'run', token, { 'idempotency-key': token });
        this.#accept(id, endpointId, token, true);
        return;
      } catch (error) {
        this.#forgive(error);
        await sleep(100);
      }
    }
  }

  async #runSync(token: string, endpointId: string): Promise<void> {
    const answer = await this.#post(endpointId, 'runsync?wait=5000', token);
    this.record(this.#accept(answer.id, endpointId, token, false), answer);
  }

  /** Reads statuses over and over: a terminal state must stay. */
  async #onlooker(): Promise<void> {
    while (!this.#isOver) {
      await sleep(20);
      if (this.accepted.length === 0) continue;
      const job = this.#random.pick(this.accepted);
      const hadEnded = job.reported !== undefined; // an answer may arrive after that of a later cancel
      try {
        const path = `/v2/${job.endpointId}/status/${job.id}`;
        this.record(job, await this.#api.call('GET', path, undefined, { timeoutMs: CLIENT_TIMEOUT_MS }), hadEnded);
      } catch (error) {
        this.#forgive(error);
        if (error instanceof ApiError && error.status === 404) this.faults.push(`${job.id} is not known any more`);
      }
    }
  }

  #post(endpointId: string, operation: string, token: string, headers: Record<string, string> = {}): Promise<Job> {
    // The delay depends on the token, because a repeated key needs the same body.
    const delayMs = (token.length * 7 + Number(token.split('/')[1])) % 40;
    const body = { input: { echo: token, delayMs } };
    return this.#api.call('POST', `/v2/${endpointId}/${operation}`, body, { headers, timeoutMs: CLIENT_TIMEOUT_MS });
  }

  #accept(id: string, endpointId: string, token: string, hasKey: boolean): Accepted {
    const job: Accepted = { id, endpointId, token, hasKey };
    this.accepted.push(job);
    this.#onAccepted();
    return job;
  }

  /**
   * Accepts that the server or its database is away, and that the queue is full (429): a rejected job was never promised.
   */
  #forgive(error: unknown): void {
    this.failedRequests += 1;
    if (error instanceof ApiError && error.status < 500 && error.status !== 404 && error.status !== 429)
      this.faults.push(`a client got ${error.status}: ${error.message}`);
  }
}

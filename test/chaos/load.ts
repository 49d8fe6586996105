import { setTimeout as sleep } from 'node:timers/promises';
import { Api, ApiError, type Job } from '../e2e/api.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import type { Random } from './random.ts';

const TERMINAL = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT']);
/** Short: a client whose server was killed has no answer to wait for. */
const CLIENT_TIMEOUT_MS = 8_000;
/** A server that answers nobody for so long does not come back. */
const ANSWERS_TIMEOUT_MS = 60_000;
/** Even the most patient client gives up when the load is over and the server stays away. */
const LAST_TRIES = 100;

/** A job that the server has answered for with 200. */
export interface Accepted {
  id: string;
  endpointId: string;
  /** What its worker has to give back; no other job has it. */
  token: string;
  hasKey: boolean;
  /** The first terminal state that any answer told. */
  told?: { status: string; output?: unknown; error?: string };
}

/**
 * Clients that go on while things are killed around them. One of three retries with an Idempotency-Key until it is
 * answered; one submits and remembers what was answered with 200; one waits with runsync. Some cancel, some look.
 */
export class Load {
  readonly accepted: Accepted[] = [];
  /** What no client may ever see. */
  readonly faults: string[] = [];
  failedRequests = 0;
  readonly #api: Api;
  readonly #endpointIds: readonly string[];
  readonly #random: Random;
  readonly #name: string;
  #isOver = false;
  #onAccepted = () => {};
  #clients: Promise<void>[] = [];

  /** `name`: of the clients, where others play on the same endpoints. */
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

  /** Resolves when so many more jobs have been answered with 200: a kill then meets work, however slow the machine is. */
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

  /** Ends the clients; what they have begun they finish. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  /** Notes what an answer says of a job; a terminal state never changes. */
  note(job: Accepted, answer: Job): void {
    if (!TERMINAL.has(answer.status)) {
      if (job.told) this.faults.push(`${job.id} was ${job.told.status} and is ${answer.status} again`);
      return;
    }
    const told = { status: answer.status, output: answer.output, ...(answer.error ? { error: answer.error } : {}) };
    if (job.told && JSON.stringify(job.told) !== JSON.stringify(told))
      this.faults.push(`${job.id} was told as ${JSON.stringify(job.told)}, then as ${JSON.stringify(told)}`);
    job.told ??= told;
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
    this.note(job, answer);
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
    this.note(this.#accept(answer.id, endpointId, token, false), answer);
  }

  /** Looks at jobs again and again: what was told once stays. */
  async #onlooker(): Promise<void> {
    while (!this.#isOver) {
      await sleep(20);
      if (this.accepted.length === 0) continue;
      const job = this.#random.pick(this.accepted);
      try {
        const path = `/v2/${job.endpointId}/status/${job.id}`;
        this.note(job, await this.#api.call('GET', path, undefined, { timeoutMs: CLIENT_TIMEOUT_MS }));
      } catch (error) {
        this.#forgive(error);
        if (error instanceof ApiError && error.status === 404) this.faults.push(`${job.id} is not known any more`);
      }
    }
  }

  #post(endpointId: string, operation: string, token: string, headers: Record<string, string> = {}): Promise<Job> {
    // The delay belongs to the token: the same key must come with the same body.
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
   * Nothing may be wrong but that the server, or its database, is away, or that the queue is full (429): a job that was
   * refused was never promised.
   */
  #forgive(error: unknown): void {
    this.failedRequests += 1;
    if (error instanceof ApiError && error.status < 500 && error.status !== 404 && error.status !== 429)
      this.faults.push(`a client was told ${error.status}: ${error.message}`);
  }
}

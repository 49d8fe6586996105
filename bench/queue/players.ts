import { type Address, HttpConnection, type HttpResponse } from './http-connection.ts';
import { Latencies } from './latencies.ts';

/** The endpoints under load, which get jobs in turn. */
export interface Stage {
  client: Address;
  worker: Address;
  endpointIds: readonly string[];
  key: string;
  payloadBytes: number;
}

export interface WorkerIdentity {
  endpointId: string;
  id: string;
  token: string;
}

const WAS_ACCEPTED = 1;
const WAS_TAKEN = 2;
const WAS_FINISHED = 4;
const MAX_ERRORS = 200;
const RETRY_MS = 100;

/**
 * Tracks every job of this run, by the number in its payload, from the submit to the acknowledged result: when it was sent,
 * and whether it was taken and finished. Jobs with other numbers (a backlog, an earlier run) are only counted.
 */
export class Ledger {
  /** The first job's number: ten random digits, so that runs on the same queue do not confuse their jobs. */
  readonly first = 1_000_000_000 + Math.floor(Math.random() * 8_000_000_000);
  readonly latencies = {
    submit: new Latencies(),
    handOver: new Latencies(),
    finish: new Latencies(),
    runsync: new Latencies(),
  };
  isMeasuring = false;
  sent = 0;
  accepted = 0;
  taken = 0;
  finished = 0;
  /** Jobs of this run that were taken and finished. */
  ownTaken = 0;
  ownFinished = 0;
  takenTwice = 0;
  errors = 0;
  firstError: string | undefined;
  #sentAt = new Float64Array(1 << 20);
  #flags = new Uint8Array(1 << 20);

  /** Records a submit. Returns the new job's number. */
  send(): number {
    if (this.sent === this.#flags.length) this.#grow();
    this.#sentAt[this.sent] = performance.now();
    return this.first + this.sent++;
  }

  accept(number: number, latencies: Latencies): void {
    this.accepted++;
    this.#flags[number - this.first]! |= WAS_ACCEPTED;
    if (this.isMeasuring) latencies.add(performance.now() - this.#sentAt[number - this.first]!);
  }

  take(number: number): void {
    this.taken++;
    const index = number - this.first;
    if (!this.#isOwn(index)) return;
    if (this.#flags[index]! & WAS_TAKEN) this.takenTwice++;
    else this.ownTaken++;
    this.#flags[index]! |= WAS_TAKEN;
    if (this.isMeasuring) this.latencies.handOver.add(performance.now() - this.#sentAt[index]!);
  }

  finish(number: number, tookMs: number): void {
    this.finished++;
    const index = number - this.first;
    if (this.isMeasuring) this.latencies.finish.add(tookMs);
    if (!this.#isOwn(index) || this.#flags[index]! & WAS_FINISHED) return;
    this.ownFinished++;
    this.#flags[index]! |= WAS_FINISHED;
  }

  /** Throws after too many errors: the figures would mean nothing. */
  fail(what: string): void {
    this.errors++;
    this.firstError ??= what;
    if (this.errors > MAX_ERRORS) throw new Error(`${this.errors} requests failed; the first: ${this.firstError}`);
  }

  /** How much the queue has grown since the start, running jobs included. Also counts jobs of other runs that end. */
  get outstanding(): number {
    return this.sent - this.finished;
  }

  /** True once jobs of other runs were taken: then this run's own wait behind them and will not all finish. */
  get hasSeenOthers(): boolean {
    return this.taken > this.ownTaken + this.takenTwice;
  }

  /** Accepted jobs whose result was never accepted. */
  countLost(): number {
    let lost = 0;
    for (let i = 0; i < this.sent; i++) {
      if ((this.#flags[i]! & (WAS_ACCEPTED | WAS_FINISHED)) === WAS_ACCEPTED) lost++;
    }
    return lost;
  }

  #isOwn(index: number): boolean {
    return index >= 0 && index < this.sent;
  }

  #grow(): void {
    const sentAt = new Float64Array(this.#sentAt.length * 2);
    sentAt.set(this.#sentAt);
    const flags = new Uint8Array(this.#flags.length * 2);
    flags.set(this.#flags);
    this.#sentAt = sentAt;
    this.#flags = flags;
  }
}

/** Submits one job at a time over its own connection; `onAnswer` is called after each. */
export class Submitter {
  readonly #ledger: Ledger;
  readonly #connection: HttpConnection;
  readonly #operation: 'run' | 'runsync';
  readonly #endpointIds: readonly string[];
  readonly #before: string;
  readonly #after: string;
  readonly #onAnswer: (submitter: Submitter) => void;

  constructor(stage: Stage, ledger: Ledger, operation: 'run' | 'runsync', onAnswer: (submitter: Submitter) => void) {
    const bodyBefore = '{"input":{"n":';
    const bodyAfter = (text: string) => `,"text":"${text}"}}`;
    const fixed = bodyBefore.length + 10 + bodyAfter('').length;
    this.#ledger = ledger;
    this.#operation = operation;
    this.#onAnswer = onAnswer;
    this.#connection = new HttpConnection(stage.client);
    this.#endpointIds = stage.endpointIds;
    this.#before =
      `/${operation} HTTP/1.1\r\nHost: ${stage.client.host}:${stage.client.port}\r\n` +
      `Authorization: Bearer ${stage.key}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Math.max(stage.payloadBytes, fixed)}\r\n\r\n${bodyBefore}`;
    this.#after = bodyAfter(fillerText(Math.max(0, stage.payloadBytes - fixed)));
  }

  get isBusy(): boolean {
    return this.#connection.isBusy;
  }

  submit(): void {
    const number = this.#ledger.send();
    const endpointId = this.#endpointIds[number % this.#endpointIds.length]!;
    this.#connection.request(`POST /v2/${endpointId}${this.#before}${number}${this.#after}`, (response) => {
      this.#record(number, response);
      this.#onAnswer(this);
    });
  }

  close(): void {
    this.#connection.close();
  }

  #record(number: number, response: HttpResponse | null): void {
    if (response?.status !== 200) this.#ledger.fail(describeFailure(this.#operation, response));
    else if (this.#operation === 'run') this.#ledger.accept(number, this.#ledger.latencies.submit);
    else if (response.body.includes('COMPLETED')) this.#ledger.accept(number, this.#ledger.latencies.runsync);
    else this.#ledger.fail(`runsync returned ${response.body.slice(0, 200)}`);
  }
}

/** A worker with an instant handler: takes a job, posts its result, repeats. */
export class Worker {
  readonly #ledger: Ledger;
  readonly #connection: HttpConnection;
  readonly #takeRequest: string;
  readonly #doneBefore: string;
  readonly #doneAfter: string;
  readonly #onFinish: () => void;
  #isStopped = false;

  constructor(stage: Stage, ledger: Ledger, worker: WorkerIdentity, onFinish: () => void) {
    const base = `/v2/${worker.endpointId}`;
    const headers = `Host: ${stage.worker.host}:${stage.worker.port}\r\nAuthorization: ${worker.token}\r\n`;
    this.#ledger = ledger;
    this.#onFinish = onFinish;
    this.#connection = new HttpConnection(stage.worker);
    this.#takeRequest = `GET ${base}/job-take/${worker.id}?gpu=none&job_in_progress=0 HTTP/1.1\r\n${headers}\r\n`;
    this.#doneBefore = `POST ${base}/job-done/${worker.id}/`;
    this.#doneAfter =
      `?gpu=none&isStream=false HTTP/1.1\r\n${headers}` +
      `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${renderOutput(0).length}\r\n\r\n`;
  }

  take(): void {
    if (this.#isStopped) return;
    this.#connection.request(this.#takeRequest, (response) => {
      if (response?.status === 200) this.#work(response.body);
      else if (response?.status === 204) this.take();
      else this.#retry(describeFailure('job-take', response));
    });
  }

  close(): void {
    this.#isStopped = true;
    this.#connection.close();
  }

  #work(body: string): void {
    const idAt = body.indexOf('"id":"') + 6;
    const id = body.slice(idAt, body.indexOf('"', idAt));
    const number = Number.parseInt(body.slice(body.indexOf('"n":') + 4), 10);
    this.#ledger.take(number);
    this.#finish(id, number);
  }

  #finish(id: string, number: number): void {
    const startedAt = performance.now();
    this.#connection.request(this.#doneBefore + id + this.#doneAfter + renderOutput(number), (response) => {
      if (response?.status === 200) {
        this.#ledger.finish(number, performance.now() - startedAt);
        this.#onFinish();
        this.take();
      } else this.#retry(describeFailure('job-done', response));
    });
  }

  #retry(what: string): void {
    if (this.#isStopped) return;
    this.#ledger.fail(what);
    setTimeout(() => this.take(), RETRY_MS);
  }
}

/** Always the same length. */
function renderOutput(number: number): string {
  return `{"output":{"n":${String(number).padEnd(10)},"text":"a short result"}}`;
}

/** ASCII text of the given length: words, neither uniform nor random. */
function fillerText(length: number): string {
  return 'The quick brown fox jumps over the lazy dog 0123456789 times. '
    .repeat(Math.ceil(length / 62))
    .slice(0, length);
}

function describeFailure(operation: string, response: HttpResponse | null): string {
  return response
    ? `${operation} returned ${response.status} ${response.body.slice(0, 200)}`
    : `${operation}: connection closed`;
}

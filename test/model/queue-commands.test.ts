import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';
import { SecondProcess } from '../second-process.ts';

const COMMANDS = process.env.PODYARD_TEST_THOROUGH === 'true' ? 10_000 : 1_000;
const COMMANDS_PER_ENDPOINT = 200;
/** Fixed in CI, so that a failure belongs to the change; random elsewhere. */
const SEED = Number(process.env.QUEUE_SEED ?? (process.env.CI ? 20_261_122 : Date.now() % 2 ** 31));
/** A take that was cut off while its job was on the way is requeued within this time, or was answered. */
const REQUEUE_MS = 500;
const SETTLE_MS = 100;
const TIMEOUT_MS = 60_000 + COMMANDS * 100;

interface Job {
  id: string;
  status: string;
  holder: number | null;
  output: unknown;
  chunks: number[];
}

/** The expected state of the queue. */
interface Model {
  jobs: Job[];
  ids: Map<string, string>;
  /** Workers with a running job that was cancelled: they get no other while they may still run it. */
  stopped: Set<number>;
}

/** The server: two processes, the second is restarted, and two workers. */
interface Real {
  endpointId: EndpointId;
  workerIds: string[];
}

let plane: QueuePlaneFixture;
let second: SecondProcess;
let first: Map<string, FakeWorker>;
let ran = 0;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 20, jobStopMs: 3_600_000 });
  second = await SecondProcess.start(plane);
  first = new Map();
});
afterAll(async () => {
  await second.stop();
  await plane.close();
});

const queued = (model: Model) => model.jobs.filter(({ status }) => status === 'IN_QUEUE');
const heldBy = (model: Model, worker: number) =>
  model.jobs.filter(({ status, holder }) => status === 'IN_PROGRESS' && holder === worker);
const pick = (model: Model, n: number) => model.jobs[n % model.jobs.length]!;
const end = (job: Job, status: string, output?: unknown) => Object.assign(job, { status, output });

function workerAt(real: Real, worker: number, process: number): FakeWorker {
  const id = real.workerIds[worker]!;
  return process === 0 ? first.get(id)! : second.worker(real.endpointId, id);
}

async function call(real: Real, process: number, path: string, body: object = {}, headers = {}) {
  if (process === 0) return plane.call('POST', `${real.endpointId}/${path}`, { body, headers });
  return second.call('POST', `${real.endpointId}/${path}`, body);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Takes a job: any queued one, because connections draw positions in the queue in blocks. */
async function take(model: Model, real: Real, worker: number, process: number): Promise<void> {
  const jobs = queued(model);
  const isBusy = heldBy(model, worker).length > 0;
  const ask = () => workerAt(real, worker, process).take(`job_in_progress=${isBusy ? 1 : 0}`);
  let answer = await ask();
  if (model.stopped.has(worker) && jobs.length > 0 && answer.status === 204) {
    if (isBusy) return; // it has not said that it obeyed
    answer = await until(ask, ({ status }) => status === 200); // the cancellation was just being told
  }
  expect(answer.status).toBe(jobs.length > 0 ? 200 : 204);
  if (jobs.length === 0) return;
  const job = jobs.find(({ id }) => id === answer.body.id);
  expect(job, 'it took a job that is not queued').toBeDefined();
  Object.assign(job!, { status: 'IN_PROGRESS', holder: worker });
}

const queue = (model: Model, id: string) =>
  model.jobs.push({ id, status: 'IN_QUEUE', holder: null, output: undefined, chunks: [] });

/** Compares every job with the model. */
async function compare(model: Model, real: Real): Promise<void> {
  const rows = await plane.sql(
    `select id, status, worker_id as worker from jobs where endpoint_id = $1
     union all select id, status, worker_id from finished_jobs where endpoint_id = $1`,
    real.endpointId,
  );
  const seen = new Map(rows.map(({ id, status, worker }) => [id, [status, worker]]));
  const isHeld = (job: Job) => job.holder !== null && job.status !== 'IN_QUEUE';
  const expected = model.jobs.map((job) => [job.id, [job.status, isHeld(job) ? real.workerIds[job.holder!]! : null]]);
  expect(seen).toEqual(new Map(expected as [string, unknown[]][]));
  expect(rows).toHaveLength(model.jobs.length);
}

type Run = (model: Model, real: Real) => Promise<void>;

class Command implements fc.AsyncCommand<Model, Real> {
  readonly #text: string;
  readonly #check: (model: Model) => boolean;
  readonly #run: Run;

  constructor(text: string, run: Run, check: (model: Model) => boolean = () => true) {
    this.#text = text;
    this.#run = run;
    this.#check = check;
  }

  check = (model: Readonly<Model>): boolean => this.#check(model);

  async run(model: Model, real: Real): Promise<void> {
    ran += 1;
    await this.#run(model, real);
  }

  toString(): string {
    return this.#text;
  }
}

const hasJobs = (model: Model) => model.jobs.length > 0;
const worker = fc.nat(1);
const process_ = fc.nat(1);
const any = fc.nat(1000);

const submit = process_.map(
  (process) =>
    new Command(`submit at ${process}`, async (model, real) => {
      const answer = await call(real, process, 'run', { input: model.jobs.length });
      expect(answer.status).toBe(200);
      queue(model, answer.body.id);
    }),
);

const submitWithKey = fc.nat(5).map(
  (key) =>
    new Command(`submit with key ${key}`, async (model, real) => {
      const answer = await call(real, 0, 'run', { input: key }, { 'idempotency-key': `${key}` });
      const id = model.ids.get(`${key}`);
      if (id !== undefined) return expect(answer.body.id).toBe(id);
      model.ids.set(`${key}`, answer.body.id);
      queue(model, answer.body.id);
    }),
);

/** The second process holds an empty take for long. */
const takeJob = fc.tuple(worker, process_).map(
  ([of, process]) =>
    new Command(
      `take of ${of} at ${process}`,
      (model, real) => take(model, real, of, process),
      (model) => process === 0 || queued(model).length > 0,
    ),
);

/** The connection of a held take breaks in the moment in which a job is submitted. */
const cutTake = worker.map(
  (of) =>
    new Command(
      `cut a take of ${of}`,
      async (model, real) => {
        const connection = new AbortController();
        const isBusy = heldBy(model, of).length > 0;
        const held = workerAt(real, of, 1).take(`job_in_progress=${isBusy ? 1 : 0}`, connection.signal);
        const answer = held.catch(() => undefined);
        await pause(10);
        connection.abort();
        const { id } = (await call(real, 1, 'run', { input: 'cut' })).body;
        queue(model, id);
        await answer;
        await pause(SETTLE_MS); // a poll for the cut take may still be on its way
        const read = () => plane.status(real.endpointId, id);
        const { status } = await until(read, (job) => job.status === 'IN_QUEUE', REQUEUE_MS).catch(read);
        if (status === 'IN_PROGRESS') Object.assign(model.jobs.at(-1)!, { status, holder: of });
      },
      (model) => queued(model).length === 0,
    ),
);

const ping = fc
  .tuple(worker, process_)
  .map(
    ([of, process]) =>
      new Command(`ping of ${of} at ${process}`, async (_, real) =>
        expect((await workerAt(real, of, process).ping('')).status).toBe(200),
      ),
  );

/** By the holder, by a stranger, or a second time: only the holder's first one counts. */
const finish = fc.tuple(worker, process_, any, fc.boolean()).map(
  ([of, process, n, isError]) =>
    new Command(
      `${of} finishes ${n} at ${process}${isError ? ' with an error' : ''}`,
      async (model, real) => {
        const job = pick(model, n);
        const report = isError ? { error: 'no' } : { output: n };
        expect((await workerAt(real, of, process).done(job.id, JSON.stringify(report))).status).toBe(200);
        if (job.status !== 'IN_PROGRESS' || job.holder !== of) return;
        end(job, isError ? 'FAILED' : 'COMPLETED', isError ? undefined : n);
      },
      hasJobs,
    ),
);

const chunk = fc.tuple(worker, process_, any).map(
  ([of, process, n]) =>
    new Command(
      `${of} streams to ${n} at ${process}`,
      async (model, real) => {
        const job = pick(model, n);
        expect((await workerAt(real, of, process).chunk(job.id, JSON.stringify({ output: n }))).status).toBe(200);
        if (job.status === 'IN_PROGRESS' && job.holder === of) job.chunks.push(n);
      },
      hasJobs,
    ),
);

const readStream = fc.tuple(process_, any).map(
  ([process, n]) =>
    new Command(
      `read the stream of ${n} at ${process}`,
      async (model, real) => {
        const job = pick(model, n);
        const { body } = await call(real, process, `stream/${job.id}?wait=0`);
        expect(body.stream).toEqual(job.chunks.map((output) => ({ output })));
        job.chunks = [];
      },
      hasJobs,
    ),
);

const readStatus = fc.tuple(process_, any).map(
  ([process, n]) =>
    new Command(
      `status of ${n} at ${process}`,
      async (model, real) => {
        const job = pick(model, n);
        const { body } = await call(real, process, `status/${job.id}`);
        expect([body.status, body.output]).toEqual([job.status, job.output]);
      },
      hasJobs,
    ),
);

const cancel = fc.tuple(process_, any).map(
  ([process, n]) =>
    new Command(
      `cancel ${n} at ${process}`,
      async (model, real) => {
        const job = pick(model, n);
        if (job.status === 'IN_PROGRESS') model.stopped.add(job.holder!);
        if (job.status === 'IN_QUEUE' || job.status === 'IN_PROGRESS') end(job, 'CANCELLED');
        expect((await call(real, process, `cancel/${job.id}`)).body.status).toBe(job.status);
      },
      hasJobs,
    ),
);

const retry = fc.tuple(process_, any).map(
  ([process, n]) =>
    new Command(
      `retry ${n} at ${process}`,
      async (model, real) => {
        const job = pick(model, n);
        const answer = await call(real, process, `retry/${job.id}`);
        expect(answer.status).toBe(job.status === 'FAILED' ? 200 : 400);
        if (answer.status !== 200) return;
        Object.assign(job, { status: 'IN_QUEUE', holder: null, output: undefined, chunks: [] });
      },
      hasJobs,
    ),
);

const purge = process_.map(
  (process) =>
    new Command(`purge at ${process}`, async (model, real) => {
      const jobs = queued(model);
      expect((await call(real, process, 'purge-queue')).body.removed).toBe(jobs.length);
      for (const job of jobs) end(job, 'CANCELLED');
    }),
);

const restart = fc.constant(
  new Command('restart', async () => {
    await second.stop();
    second = await SecondProcess.start(plane);
  }),
);

const commands = fc.commands(
  [
    ...[submit, submit, submitWithKey, takeJob, takeJob, takeJob, ping, finish, finish, finish],
    ...[chunk, chunk, readStream, readStatus, cancel, retry, purge],
    fc.oneof({ weight: 5, arbitrary: cutTake }, { weight: 1, arbitrary: restart }),
  ],
  { maxCommands: COMMANDS_PER_ENDPOINT, size: 'max' },
);

/** The error names the commands up to the one that failed. */
async function report<T>({ failed, errorInstance, counterexample }: fc.RunDetails<[T]>): Promise<void> {
  if (!failed) return;
  const sequence = String(counterexample![0]);
  throw new Error(`${(errorInstance as Error).message}\nAfter: ${sequence}\nAgain: QUEUE_SEED=${SEED}`, {
    cause: errorInstance,
  });
}

/** docs/interface/queue.md and worker-api.md */
test(
  `after any commands the queue is what a simple model says (seed ${SEED})`,
  async () => {
    console.log(`queue: at least ${COMMANDS} commands, QUEUE_SEED=${SEED}`);
    for (let round = 0; ran < COMMANDS; round++) {
      const property = fc.asyncProperty(commands, async (sequence) => {
        const endpointId = await plane.endpoint(2);
        const one = await plane.worker(endpointId);
        const other = await plane.worker(endpointId, [one.id]);
        for (const each of [one, other]) first.set(each.id, each);
        const setUp = async () => ({
          model: { jobs: [], ids: new Map(), stopped: new Set() } as Model,
          real: { endpointId, workerIds: [one.id, other.id] },
        });
        let state: Awaited<ReturnType<typeof setUp>> | undefined;
        await fc.asyncModelRun(async () => (state = await setUp()), sequence);
        await compare(state!.model, state!.real);
      });
      await fc.assert(property, {
        seed: SEED + round,
        numRuns: 1,
        endOnFailure: true,
        asyncReporter: report,
      });
    }
  },
  TIMEOUT_MS,
);

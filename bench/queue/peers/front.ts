import { randomUUID } from 'node:crypto';
import http from 'node:http';

/** A job as a worker receives it. */
export interface FrontJob {
  id: string;
  /** JSON text. */
  input: string;
}

/** The interface of a queue. Bodies are texts: a queue parses only what it needs. */
export interface FrontQueue {
  /** Stores the job of a submit body (`{"input":…}`). Returns its id once it is durable. */
  submit(body: string, id?: string): Promise<string>;
  /** Leases the next job to the worker; null when there is none. */
  take(workerId: string): Promise<FrontJob | null>;
  /** Stores the result of a job-done body (`{"output":…}`). Returns false when the worker does not hold the job. */
  finish(jobId: string, workerId: string, body: string): Promise<boolean>;
  /** For in-memory dispatch: stores the job as already leased by this waiting worker. */
  submitTo?(body: string, id: string | undefined, workerId: string): Promise<FrontJob>;
}

const HOLD_MS = 30_000;
/** How often a waiting worker polls even if nothing was submitted here: another process may have. */
const POLL_MS = 5000;
const SYNC_WAIT_MS = 90_000;

interface Waiter {
  workerId: string;
  wake: (job: FrontJob | null) => void;
}

/**
 * The HTTP front that all peers share: node:http, the routes of Podyard's data plane (run, runsync, job-take, job-done), one
 * key, no validation. A submit wakes one waiting worker in memory, the fastest that any user of these queues could do.
 */
export class Front {
  readonly #queue: FrontQueue;
  readonly #authorization: string;
  readonly #waiting = new Map<number, Waiter>();
  readonly #syncs = new Map<string, (body: string) => void>();
  #nextWaiter = 0;
  #submitted = 0;

  constructor(queue: FrontQueue, key: string) {
    this.#queue = queue;
    this.#authorization = `Bearer ${key}`;
  }

  listen(port: number): Promise<number> {
    const server = http.createServer((request, response) => {
      this.#handle(request, response).catch((error) => {
        process.stderr.write(`${error.stack}\n`);
        answer(response, 500, '{"error":"internal"}');
      });
    });
    server.keepAliveTimeout = 75_000;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const [, , , operation, workerId, jobAndQuery] = request.url!.split('/');
    switch (operation) {
      case 'run':
        return this.#run(request, response);
      case 'runsync':
        return this.#runsync(request, response);
      case 'job-take':
        return this.#take(workerId!.slice(0, workerId!.indexOf('?')), response);
      case 'job-done':
        return this.#done(jobAndQuery!.slice(0, jobAndQuery!.indexOf('?')), workerId!, request, response);
      default:
        return answer(response, 404, '{"error":"no such route"}');
    }
  }

  async #run(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    if (request.headers.authorization !== this.#authorization) return answer(response, 401, '{"error":"key"}');
    const id = await this.#submit(await readBody(request));
    answer(response, 200, `{"id":"${id}","status":"IN_QUEUE"}`);
  }

  async #runsync(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    if (request.headers.authorization !== this.#authorization) return answer(response, 401, '{"error":"key"}');
    const body = await readBody(request);
    const id = randomUUID();
    const result = new Promise<string | null>((resolve) => {
      const timer = setTimeout(() => resolve(null), SYNC_WAIT_MS);
      this.#syncs.set(id, (resultBody) => {
        clearTimeout(timer);
        resolve(resultBody);
      });
    });
    await this.#submit(body, id);
    const resultBody = await result;
    this.#syncs.delete(id);
    if (resultBody === null) answer(response, 200, `{"id":"${id}","status":"IN_QUEUE"}`);
    else answer(response, 200, `{"id":"${id}","status":"COMPLETED",${resultBody.slice(1)}`);
  }

  async #submit(body: string, id?: string): Promise<string> {
    if (this.#queue.submitTo) {
      const waiter = this.#claimWaiter();
      if (waiter) {
        const job = await this.#queue.submitTo(body, id, waiter.workerId);
        waiter.wake(job);
        return job.id;
      }
    }
    const jobId = await this.#queue.submit(body, id);
    this.#submitted++;
    this.#claimWaiter()?.wake(null);
    return jobId;
  }

  /** Removes and returns the worker that has waited longest. The caller must wake it. */
  #claimWaiter(): Waiter | undefined {
    for (const [number, waiter] of this.#waiting) {
      this.#waiting.delete(number);
      return waiter;
    }
    return undefined;
  }

  async #take(workerId: string, response: http.ServerResponse): Promise<void> {
    const deadline = performance.now() + HOLD_MS;
    for (;;) {
      const submittedBefore = this.#submitted;
      const job = await this.#queue.take(workerId);
      if (job) return answer(response, 200, `{"id":"${job.id}","input":${job.input}}`);
      if (response.destroyed) return;
      if (this.#submitted !== submittedBefore) continue; // a job arrived since the take
      if (performance.now() >= deadline) return answer(response, 204, '');
      const handed = await this.#wait(workerId, response);
      if (handed) return answer(response, 200, `{"id":"${handed.id}","input":${handed.input}}`);
      if (response.destroyed) return;
    }
  }

  #wait(workerId: string, response: http.ServerResponse): Promise<FrontJob | null> {
    return new Promise((resolve) => {
      const number = this.#nextWaiter++;
      const end = (job: FrontJob | null) => {
        clearTimeout(timer);
        response.off('close', onClose);
        this.#waiting.delete(number);
        resolve(job);
      };
      const onClose = () => end(null);
      const timer = setTimeout(() => end(null), POLL_MS);
      response.once('close', onClose);
      this.#waiting.set(number, { workerId, wake: end });
    });
  }

  async #done(
    jobId: string,
    workerId: string,
    request: http.IncomingMessage,
    response: http.ServerResponse,
  ): Promise<void> {
    const body = await readBody(request);
    const isStored = await this.#queue.finish(jobId, workerId, body);
    if (!isStored) return answer(response, 404, '{"error":"not your job"}');
    this.#syncs.get(jobId)?.(body);
    answer(response, 200, '{}');
  }
}

function readBody(request: http.IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => resolve(body));
    request.on('error', reject);
  });
}

function answer(response: http.ServerResponse, status: number, body: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

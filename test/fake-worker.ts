/** A response of the worker API; `body` is parsed JSON, or undefined when empty. */
export interface WorkerAnswer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON that the server sends
  body: any;
}

/** A worker that speaks the worker API over HTTP, as SDKs do. */
export class FakeWorker {
  readonly id: string;
  readonly #base: string;
  readonly #token: string;

  constructor(options: { apiUrl: string; endpointId: string; workerId: string; token: string }) {
    this.id = options.workerId;
    this.#base = `${options.apiUrl}/v2/${options.endpointId}`;
    this.#token = options.token;
  }

  /** Takes one job; 204 when there is none within the hold. */
  take(query = 'job_in_progress=0', signal?: AbortSignal): Promise<WorkerAnswer> {
    return this.call('GET', `job-take/${this.id}?gpu=cpu&${query}`, { signal });
  }

  takeBatch(size: number | string): Promise<WorkerAnswer> {
    return this.call('GET', `job-take-batch/${this.id}?gpu=cpu&batch_size=${size}&job_in_progress=0`);
  }

  /** Reports a result, with the content type that SDKs use. */
  done(jobId: string, body: string, isStream = false): Promise<WorkerAnswer> {
    return this.call('POST', `job-done/${this.id}/${jobId}?gpu=cpu&isStream=${isStream}`, { body });
  }

  /** Where it posts the result of a job. */
  resultUrl(jobId: string): string {
    return `${this.#base}/job-done/${this.id}/${jobId}`;
  }

  chunk(jobId: string, body: string): Promise<WorkerAnswer> {
    return this.call('POST', `job-stream/${this.id}/${jobId}?gpu=cpu&isStream=false`, { body });
  }

  ping(query = 'runpod_version=1.12.0'): Promise<WorkerAnswer> {
    return this.call('GET', `ping/${this.id}?gpu=cpu&${query}`);
  }

  stopOrders(signal?: AbortSignal): Promise<WorkerAnswer> {
    return this.call('GET', `job-stop/${this.id}?gpu=cpu`, { signal });
  }

  /** Takes a job and finishes it with this report. */
  async work(report: string): Promise<string> {
    const { body } = await this.take();
    await this.done(body.id, report);
    return body.id;
  }

  async call(
    method: string,
    path: string,
    options: { body?: string | undefined; token?: string; signal?: AbortSignal | undefined } = {},
  ): Promise<WorkerAnswer> {
    const response = await fetch(`${this.#base}/${path}`, {
      method,
      headers: {
        authorization: options.token ?? this.#token,
        ...(options.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: options.body ?? null,
      signal: options.signal ?? null,
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }
}

/** The argument of a handler. */
// biome-ignore lint/suspicious/noExplicitAny: only the handler knows what clients send
export interface Job<Input = any> {
  readonly id: string;
  /** As the client sent it. */
  readonly input: Input;
  /** Aborts when the job is cancelled and its result is no longer wanted. */
  readonly signal: AbortSignal;
  /** Shows `value` as the job's output while it runs. Updates arrive in order, before the result. */
  progress(value: unknown): Promise<void>;
  /** The job's trace (W3C Trace Context), to continue it; absent when there is none. */
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/**
 * Runs one job. Its return value, or what the returned promise resolves to, is the job's output; the values of an async
 * generator are streamed chunk by chunk. What it throws becomes the job's error. In a returned object, `error` fails the
 * job, and `refresh_worker: true` requests a fresh worker after it; both are removed from the output.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type Handler<Input = any, Output = unknown> = (
  job: Job<Input>,
) => Output | Promise<Output> | AsyncGenerator<Output, unknown, unknown>;

// biome-ignore lint/suspicious/noExplicitAny: as above
export interface WorkerOptions<Input = any, Output = unknown> {
  handler: Handler<Input, Output>;
  /** How many jobs run at once; default 1. */
  concurrency?: number;
  /**
   * Gives back the GPU's memory. Called while no job runs, before the worker is frozen; another worker uses the GPU until
   * `onWake`. A worker whose `onSleep` throws keeps its GPU. Requires `onWake`.
   */
  onSleep?: () => unknown;
  /** Takes the GPU's memory again. Called after the worker is thawed, before its next job. A worker whose `onWake` throws ends. */
  onWake?: () => unknown;
}

/**
 * Takes jobs from the endpoint that started this process and runs the handler for each. After SIGTERM or SIGINT it takes no
 * more, and resolves when the last job has ended. Throws a TypeError when an option is invalid.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function start<Input = any, Output = unknown>(options: WorkerOptions<Input, Output>): Promise<void>;

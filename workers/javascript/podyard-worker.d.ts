/** What a handler gets. */
// biome-ignore lint/suspicious/noExplicitAny: what clients send is known to the handler alone
export interface Job<Input = any> {
  readonly id: string;
  /** As the client sent it. */
  readonly input: Input;
  /** Aborts when the job is cancelled: nobody wants its result any more. */
  readonly signal: AbortSignal;
  /** Shows `value` as the job's output while it runs. Updates arrive in order, and before the result. */
  progress(value: unknown): Promise<void>;
  /** The trace that the job belongs to (W3C Trace Context), to go on with it; absent where there is none. */
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/**
 * What it returns, or resolves to, is the job's output; what an async generator yields is streamed, chunk by chunk. What it
 * throws becomes the job's error. In an object, `error` makes the job fail, and `refresh_worker: true` asks for a fresh
 * worker after this job; both are taken out of the output.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type Handler<Input = any, Output = unknown> = (
  job: Job<Input>,
) => Output | Promise<Output> | AsyncGenerator<Output, unknown, unknown>;

// biome-ignore lint/suspicious/noExplicitAny: as above
export interface WorkerOptions<Input = any, Output = unknown> {
  handler: Handler<Input, Output>;
  /** How many jobs run at once; 1 by default. */
  concurrency?: number;
}

/**
 * Takes jobs from the endpoint that started this process, and runs the handler for each. After SIGTERM or SIGINT it takes
 * nothing more; it resolves when the last job has ended. Throws a TypeError when the options are not right.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function start<Input = any, Output = unknown>(options: WorkerOptions<Input, Output>): Promise<void>;

/** An error response of the API. `message` is its detail; `status` is 0 when there was no response at all. */
export class ApiError extends Error {
  readonly status: number;
  /** One `location: problem` string for each invalid field of the request body. */
  readonly errors: readonly string[];

  constructor(status: number, detail: string, errors: readonly string[] = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

/** Returns the error of a request that got no response. */
export function unreachable(): ApiError {
  return new ApiError(0, 'The server cannot be reached.');
}

/** Returns the error of a response that is not `ok`; reads the body unless the caller already has it. */
export async function readApiError(response: Response, body?: unknown): Promise<ApiError> {
  const problem = (body ?? (await response.json().catch(() => ({})))) as {
    detail?: string;
    error?: string;
    errors?: string[];
  };
  const detail = problem.detail ?? problem.error ?? `The server responded with status ${response.status}.`;
  const retryAfter = response.headers.get('retry-after');
  return new ApiError(response.status, retryAfter ? `${detail}; try again in ${retryAfter} s` : detail, problem.errors);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

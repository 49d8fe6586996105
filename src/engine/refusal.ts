/** A container engine or an API server refused a request. `message` is its own. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** True when it refused with this status and, where one status has several meanings, with these words. */
export function isRefusal(error: unknown, status: number, words?: RegExp): error is Refusal {
  return error instanceof Refusal && error.status === status && (words?.test(error.message) ?? true);
}

/** Resolves with undefined when the answer is that something does not exist. */
export async function orAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isRefusal(error, 404)) return undefined;
    throw error;
  }
}

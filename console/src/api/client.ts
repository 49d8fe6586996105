import createClient from 'openapi-fetch';
import { currentKey, signOut } from './session.ts';
import type { components, paths } from './types.gen.ts';

export type Schemas = components['schemas'];

/** Where this page came from, without a slash at the end. */
export const BASE_URL = new URL('.', document.baseURI).href.replace(/\/$/, '');

export function authorization(): Record<string, string> {
  const key = currentKey();
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

export const api = createClient<paths>({ baseUrl: BASE_URL });
api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
    return request;
  },
});

/** A refusal, as the server put it. */
export class ApiError extends Error {
  readonly status: number;
  /** `location: failure` strings of a body that failed validation. */
  readonly errors: readonly string[];

  constructor(status: number, detail: string, errors: readonly string[] = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }
}

export async function toApiError(response: Response, body?: unknown): Promise<ApiError> {
  const problem = (body ?? (await response.json().catch(() => ({})))) as {
    detail?: string;
    error?: string;
    errors?: string[];
  };
  if (response.status === 401) signOut('The key is no longer valid.');
  const wait = response.headers.get('retry-after');
  const detail = problem.detail ?? problem.error ?? `The server answered ${response.status}.`;
  return new ApiError(response.status, wait ? `${detail}; try again in ${wait} s` : detail, problem.errors);
}

/** The answer of a call, or the refusal thrown as an ApiError. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call.catch(() => {
    throw new ApiError(0, 'The server cannot be reached.');
  });
  if (!response.ok) throw await toApiError(response, error);
  return data as T;
}

/** The same for what is not in the description: the queue plane, and event streams. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...authorization(), ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(`${BASE_URL}${path}`, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, 'The server cannot be reached.');
  });
  if (!response.ok) throw await toApiError(response);
  return response;
}

import createClient from 'openapi-fetch';
import { type ApiError, readApiError, unreachable } from './api-error.ts';
import { currentKey, signOut } from './session.ts';
import type { components, paths } from './types.gen.ts';

export type Schemas = components['schemas'];

/** The URL this page was loaded from, without a trailing slash. */
export const BASE_URL = new URL('.', document.baseURI).href.replace(/\/$/, '');

/** The revision that the types are of, whatever the server and the key speak by themselves. */
const REVISION = { 'podyard-revision': '2026-07' };

function authorization(): Record<string, string> {
  const key = currentKey();
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

export const api = createClient<paths>({ baseUrl: BASE_URL, headers: REVISION });
api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
    return request;
  },
});

/** Returns the body of a successful call. Throws ApiError otherwise. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call.catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw await toError(response, error);
  return data as T;
}

/** Calls what the OpenAPI document does not describe: the queue API and event streams. Throws ApiError. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...REVISION, ...authorization(), ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(`${BASE_URL}${path}`, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw unreachable();
  });
  if (!response.ok) throw await toError(response);
  return response;
}

/** Signs out on a 401: every later call would fail as well. */
async function toError(response: Response, body?: unknown): Promise<ApiError> {
  if (response.status === 401) signOut('Your API key is no longer valid.');
  return readApiError(response, body);
}

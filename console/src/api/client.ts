import createClient from 'openapi-fetch';
import type { components, paths } from '../../../api/openapi-2026-08.d.ts';
import { type ApiError, readApiError, unreachable } from './api-error.ts';
import { isAway } from './connection.ts';
import { BASE_URL, connection } from './server-connection.ts';
import { forgetSession, sessionHeaders } from './session.ts';
import { currentTeam } from './team.ts';

export type Schemas = components['schemas'];

export { BASE_URL };

/** The revision that the types are of, whatever the server and the key speak by themselves; and what the audit log names. */
const REVISION = { 'podyard-revision': '2026-08', 'podyard-client': 'console' };

/** The headers with the caller's credentials and team. */
export function authorization(): Record<string, string> {
  const team = currentTeam();
  return { ...sessionHeaders(), ...(team !== null && { 'podyard-team': team }) };
}

export const api = createClient<paths>({ baseUrl: BASE_URL, headers: REVISION });
api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) {
      if (!request.headers.has(name)) request.headers.set(name, value);
    }
    return request;
  },
});

/** Returns the body of a successful call. Throws ApiError otherwise. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call.catch(() => {
    throw noAnswer();
  });
  if (!response.ok) throw await toError(response, error);
  return data as T;
}

/** Calls what the OpenAPI document does not describe: the queue API and event streams. Throws ApiError. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await requestAny(path, init);
  if (!response.ok) throw await toError(response);
  return response;
}

/**
 * Like `request`, but returns the response whatever its status: a worker's 401 must not end the session. Throws ApiError when there
 * is not a response.
 */
export async function requestAny(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...REVISION, ...authorization(), ...(init.headers as Record<string, string> | undefined) };
  return fetch(`${BASE_URL}${path}`, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw noAnswer();
  });
}

function noAnswer(): ApiError {
  void connection.suspect();
  return unreachable();
}

/** Signs out on a 401: every later call would fail as well. Looks after the server if it can't work now. */
async function toError(response: Response, body?: unknown): Promise<ApiError> {
  if (response.status === 401) forgetSession('You were signed out: the session has ended.');
  if (isAway(response.status)) void connection.suspect();
  return readApiError(response, body);
}

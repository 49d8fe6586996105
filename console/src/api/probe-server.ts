import { readApiError, unreachable } from './api-error.ts';
import type { ProbeResult } from './connection.ts';

const TIMEOUT_MS = 5_000;

/** Asks the server whether it can work. What a proxy answers in its place counts as no answer. */
export async function probeServer(fetchFn: typeof fetch, baseUrl: string): Promise<ProbeResult> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetchFn(`${baseUrl}/readyz`, { cache: 'no-store', signal });
    if (response.status < 500) return { isReached: true };
    const problem = (await response.json().catch(() => ({}))) as { detail?: unknown };
    return { isReached: false, detail: typeof problem.detail === 'string' ? problem.detail : null };
  } catch {
    return { isReached: false, detail: null };
  }
}

/** True for the statuses of a server that can't work now, or of a proxy that can't reach it. */
export function isAway(status: number): boolean {
  return status === 0 || status === 502 || status === 503 || status === 504;
}

/** Resolves if the server accepts the key, else throws ApiError. A key that may not read the account is accepted too. */
export async function verifyKey(fetchFn: typeof fetch, baseUrl: string, key: string): Promise<void> {
  const response = await fetchFn(`${baseUrl}/v2/account`, { headers: { authorization: `Bearer ${key}` } }).catch(() => {
    throw unreachable();
  });
  if (!response.ok && response.status !== 403) throw await readApiError(response);
}

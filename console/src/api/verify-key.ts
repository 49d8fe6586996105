import { readApiError, unreachable } from './api-error.ts';

/** Resolves if the server accepts the key, else throws ApiError. A key that may not read the account is accepted too. */
export async function verifyKey(fetchFn: typeof fetch, baseUrl: string, key: string): Promise<void> {
  const response = await fetchFn(`${baseUrl}/v2/account`, { headers: { authorization: `Bearer ${key}` } }).catch(() => {
    throw unreachable();
  });
  if (!response.ok && response.status !== 403) throw await readApiError(response);
}

import type { HttpCall } from './http-call.ts';

/** A request that was sent from an endpoint's page, and what came of it. */
export type SentRequest = { at: number; outcome: string; ms: number | null } & (
  | { kind: 'job'; input: string; jobId: string }
  | { kind: 'http'; call: HttpCall }
);

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem'>;

const MAX_REQUESTS = 20;
/** Longer inputs and bodies are not kept: the browser gives a page 5 MB. */
const MAX_CHARACTERS = 20_000;
/** Headers that carry keys are not written to the disk. */
const SECRET_HEADER = /authorization|cookie|token|secret|password|api-?key|credential|session|signature/i;

const nameOf = (endpointId: string) => `podyard-requests-${endpointId}`;

/** The last requests to an endpoint, newest first. Storage of another version, or that was tampered with, counts as empty. */
export function readHistory(storage: Storage, endpointId: string): SentRequest[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(nameOf(endpointId)) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isRequest).slice(0, MAX_REQUESTS) : [];
  } catch {
    return [];
  }
}

/** Adds a request, or replaces the one of the same time, and returns the history. */
export function remember(storage: Storage, endpointId: string, request: SentRequest): SentRequest[] {
  const others = readHistory(storage, endpointId).filter(({ at }) => at !== request.at);
  const kept = withoutKeys(request);
  const history = [...(kept === null ? [] : [kept]), ...others]
    .toSorted((one, other) => other.at - one.at)
    .slice(0, MAX_REQUESTS);
  try {
    storage.setItem(nameOf(endpointId), JSON.stringify(history));
  } catch {
    // The browser's storage is full or switched off: the history lasts as long as the page.
  }
  return history;
}

export function forget(storage: Storage, endpointId: string): void {
  try {
    storage.removeItem(nameOf(endpointId));
  } catch {
    // As above.
  }
}

function withoutKeys(request: SentRequest): SentRequest | null {
  if (request.kind === 'job') return request.input.length > MAX_CHARACTERS ? null : request;
  const { call } = request;
  if (call.body.length > MAX_CHARACTERS) return null;
  return { ...request, call: { ...call, headers: call.headers.filter(({ name }) => !SECRET_HEADER.test(name)) } };
}

function isRequest(value: unknown): value is SentRequest {
  const { at, kind, outcome, input, jobId, call } = (value ?? {}) as Record<string, unknown>;
  if (typeof at !== 'number' || typeof outcome !== 'string') return false;
  if (kind === 'job') return typeof input === 'string' && typeof jobId === 'string';
  const { method, path, body, headers } = (call ?? {}) as Record<string, unknown>;
  return [method, path, body].every((text) => typeof text === 'string') && kind === 'http' && Array.isArray(headers);
}

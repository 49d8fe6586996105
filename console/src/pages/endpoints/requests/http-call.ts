/** A request to a load-balancing endpoint. `body` is not sent if it is empty or if the method allows none. */
export interface HttpCall {
  method: string;
  path: string;
  headers: { name: string; value: string }[];
  body: string;
}

export interface HttpResult {
  status: number;
  headers: [name: string, value: string][];
  text: string;
  ms: number;
  workerId: string | null;
  /** True if the text is only the beginning: it is still arriving, was cancelled, or is longer than is shown. */
  isPartial: boolean;
}

/** The call that a panel begins with. */
export const FIRST_CALL: HttpCall = { method: 'GET', path: '/', headers: [], body: '' };
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
/** More text than this is not shown. */
const MAX_CHARACTERS = 2_000_000;
const JSON_TYPE = 'application/json';

export function allowsBody(method: string): boolean {
  return !['GET', 'HEAD', 'DELETE'].includes(method);
}

/** Returns the body that the call sends, or undefined. */
export function bodyOf({ method, body }: HttpCall): string | undefined {
  return allowsBody(method) && body !== '' ? body : undefined;
}

/** Returns the headers that the call sends besides the key. A body is JSON unless they say otherwise. */
export function headersOf(call: HttpCall): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, value } of call.headers) {
    // The endpoint's key is in it, and is not passed on.
    if (name.trim() !== '' && name.trim().toLowerCase() !== 'authorization') headers[name.trim().toLowerCase()] = value;
  }
  return bodyOf(call) === undefined ? headers : { 'content-type': JSON_TYPE, ...headers };
}

/** Returns what is wrong with a header's name or value, or null. */
export function headerFault({ name, value }: { name: string; value: string }): string | null {
  if (name.trim() === '') return value === '' ? null : 'Name is required';
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name.trim())) return 'Not a header name';
  if (name.trim().toLowerCase() === 'authorization') return 'Your key is sent in it';
  return /[\0-\x08\x0a-\x1f\x7f\u0100-\uffff]/.test(value) ? 'Not a header value' : null;
}

/**
 * Sends a call by the endpoint's path under `/v2`, so that it stays on the console's origin. `onProgress` gets the response as
 * it arrives. Throws what `send` throws, and an AbortError when it is cancelled before the response begins.
 */
export async function sendHttp(
  send: (path: string, init: RequestInit) => Promise<Response>,
  endpointId: string,
  call: HttpCall,
  { signal, onProgress = () => {} }: { signal?: AbortSignal; onProgress?: (result: HttpResult) => void } = {},
): Promise<HttpResult> {
  const startedAt = performance.now();
  const body = bodyOf(call);
  const headers = headersOf(call);
  const response = await send(`/v2/${endpointId}/lb${call.path}`, {
    method: call.method,
    ...(body === undefined ? {} : { body }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(signal ? { signal } : {}),
  });
  const result = (text: string, isPartial: boolean): HttpResult => ({
    status: response.status,
    headers: [...response.headers],
    text,
    ms: performance.now() - startedAt,
    workerId: response.headers.get('x-runpod-worker-id'),
    isPartial,
  });
  let text = '';
  try {
    for await (const piece of piecesOf(response)) {
      text += piece;
      if (text.length > MAX_CHARACTERS) return result(text.slice(0, MAX_CHARACTERS), true);
      onProgress(result(text, true));
    }
  } catch (error) {
    if (signal?.aborted) return result(text, true);
    throw error;
  }
  return result(text, false);
}

async function* piecesOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

type Send = (path: string, init?: RequestInit) => Promise<Response>;

/** Submits a job and returns its id. `inputJson` is sent as typed, so that numbers keep their digits. */
export async function submitJob(send: Send, endpointId: string, inputJson: string): Promise<string> {
  const submitted = await send(`/v2/${endpointId}/run`, {
    method: 'POST',
    body: `{"input":${inputJson}}`,
    headers: { 'content-type': 'application/json' },
  });
  return ((await submitted.json()) as { id: string }).id;
}

/** A request to a load-balancing endpoint; `body` is JSON, and is not sent if empty or if the method allows none. */
export interface HttpCall {
  method: string;
  path: string;
  body: string;
}

export interface HttpResult {
  status: number;
  text: string;
  ms: number;
  workerId: string | null;
}

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export function allowsBody(method: string): boolean {
  return method !== 'GET' && method !== 'DELETE';
}

/** Returns the body that the call sends, or undefined. */
export function bodyOf({ method, body }: HttpCall): string | undefined {
  return allowsBody(method) && body !== '' ? body : undefined;
}

/** Sends a call by the endpoint's path under `/v2`, so that it stays on the console's origin. */
export async function sendHttp(
  send: (path: string, init: RequestInit) => Promise<Response>,
  endpointId: string,
  call: HttpCall,
): Promise<HttpResult> {
  const startedAt = performance.now();
  const body = bodyOf(call);
  const response = await send(`/v2/${endpointId}/lb${call.path}`, {
    method: call.method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  const workerId = response.headers.get('x-runpod-worker-id');
  return { status: response.status, text, ms: performance.now() - startedAt, workerId };
}

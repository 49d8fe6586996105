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

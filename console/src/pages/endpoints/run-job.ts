/** A job as the queue API returns it. Times are milliseconds. */
export interface Job {
  id: string;
  status: string;
  delayTime?: number;
  executionTime?: number;
  workerId?: string;
  output?: unknown;
  error?: string;
}

type Send = (path: string, init?: RequestInit) => Promise<Response>;

const FINAL = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT']);
/** How long the server holds one status request. */
const WAIT_MS = 10_000;

/**
 * Submits a job and follows it to its end; `onChange` gets each state. `inputJson` is sent as typed, so that numbers
 * keep their digits.
 */
export async function runJob(
  send: Send,
  endpointId: string,
  inputJson: string,
  onChange: (job: Job) => void,
): Promise<void> {
  const submitted = await send(`/v2/${endpointId}/run`, {
    method: 'POST',
    body: `{"input":${inputJson}}`,
    headers: { 'content-type': 'application/json' },
  });
  let job = (await submitted.json()) as Job;
  onChange(job);
  while (!FINAL.has(job.status)) {
    const response = await send(`/v2/${endpointId}/status-sync/${job.id}?wait=${WAIT_MS}`);
    job = (await response.json()) as Job;
    onChange(job);
  }
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

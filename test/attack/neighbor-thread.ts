/**
 * The clients of a neighbor (neighbor.ts), in a thread of their own: the test that attacks keeps its own event loop busy, and
 * would measure itself. Stands in for the neighbor's worker, too, where the runtime only simulates workers.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { NeighborJob, NeighborTask } from './neighbor.ts';

const { url, key, endpointId, pauseMs, worker } = workerData as NeighborTask;
const agent = new Agent({ keepAlive: true });
const jobs: NeighborJob[] = [];
let isOver = false;

interface Answer {
  status: number;
  text: string;
}

function call(target: string, authorization: string, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const sent = request(target, { method: body === undefined ? 'GET' : 'POST', headers, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode!, text })).on('error', reject);
    });
    sent.on('error', reject).end(body);
  });
}

/** Submits jobs one after the other, every other one asynchronously, and waits for each result. */
async function submitJobs(): Promise<void> {
  const base = `${url}/v2/${endpointId}`;
  for (let n = 0; !isOver; n++) {
    const token = `neighbor ${n}`;
    const body = JSON.stringify({ input: { echo: token } });
    const startedAt = performance.now();
    try {
      let answer = await call(`${base}/${n % 2 === 0 ? 'runsync' : 'run'}`, `Bearer ${key}`, body);
      const { id } = JSON.parse(answer.text) as { id?: string };
      if (n % 2 === 1 && id) answer = await call(`${base}/status-sync/${id}`, `Bearer ${key}`);
      const { status, output } = JSON.parse(answer.text) as { status: string; output: unknown };
      const isRight = answer.status === 200 && status === 'COMPLETED' && output === token;
      jobs.push({
        id: id ?? '',
        ms: performance.now() - startedAt,
        lateMs: 0,
        fault: isRight ? null : answer.text.slice(0, 300),
      });
    } catch (error) {
      jobs.push({ id: '', ms: performance.now() - startedAt, lateMs: 0, fault: String(error) });
    }
    const pausedAt = performance.now();
    await sleep(pauseMs);
    jobs.at(-1)!.lateMs = performance.now() - pausedAt - pauseMs;
  }
}

/** Takes jobs and returns what they ask for, as `podyard/echo-js` does. */
async function work({ apiUrl, workerId, token }: NonNullable<NeighborTask['worker']>): Promise<void> {
  const base = `${apiUrl}/v2/${endpointId}`;
  while (!isOver) {
    const taken = await call(`${base}/job-take/${workerId}?job_in_progress=0`, token);
    if (taken.status !== 200) continue;
    const job = JSON.parse(taken.text) as { id: string; input: { echo: string } };
    await call(`${base}/job-done/${workerId}/${job.id}`, token, JSON.stringify({ output: job.input.echo }));
  }
}

parentPort!.once('message', () => {
  isOver = true;
});
if (worker) void work(worker).catch(() => {});
await submitJobs();
parentPort!.postMessage(jobs);
agent.destroy();
process.exit(0); // a held take would keep the thread alive

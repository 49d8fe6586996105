import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import { hasEnded } from '../../core/job-states.ts';
import type { Context } from '../../domain/context.ts';
import { ApiClient, type Target } from '../shared/api-client.ts';
import type { Say } from './demo.ts';

const NAME = 'installation-proof';
const IMAGE = 'podyard/echo-js:dev';
const INPUT = { echo: 'proof' };
const ENDPOINTS = '/2026-08/v2/serverless';
const JOB_TIMEOUT_MS = 60_000;
/** A worker that has found no place by then waits for other workers to leave. */
const PLACE_TIMEOUT_MS = 10_000;
const KEY_LIFETIME_MS = 15 * 60_000;

interface Job {
  id: string;
  status: string;
  output?: unknown;
  error?: string;
}

/**
 * Proves that a server does its work: creates an endpoint on the CPU, runs one job on it and removes it. Where no worker can run
 * (`whyNoWorker`, or no place on the machine), the job is submitted, read and cancelled instead, which `say` reports. Throws a sentence if
 * anything fails.
 */
export async function runProof(target: Target, whyNoWorker: string | null, say: Say): Promise<void> {
  const api = new ApiClient(target, { interrupted: new AbortController().signal, env: {} });
  await removeFormer(api);
  const { id } = await api.json<{ id: string }>('POST', ENDPOINTS, {
    ...{ name: NAME, type: 'QUEUE', image: IMAGE, cpu: [{ id: 'cpu3c', vcpuCount: 2 }] },
    ...{ workers: { min: 0, max: whyNoWorker === null ? 1 : 0 }, scaling: { type: 'REQUEST_COUNT', requestCount: 1 } },
  });
  try {
    const startedAt = performance.now();
    const job = await api.json<Job>('POST', `/v2/${id}/run`, { input: INPUT });
    const why = whyNoWorker ?? (await awaitJob(api, id, job.id));
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (why === null) return say(`one job ran in ${seconds} s, on a worker that was started for it`);
    await readAndCancel(api, id, job.id);
    say(`no worker can run here now (${why}); the API answers, and the queue took a job and gave it back`);
  } finally {
    await api.json('DELETE', `${ENDPOINTS}/${id}`);
  }
}

/** Removes what a killed proof has left. */
async function removeFormer(api: ApiClient): Promise<void> {
  const { endpoints } = await api.json<{ endpoints: { id: string; name: string }[] }>('GET', ENDPOINTS);
  for (const { id, name } of endpoints) if (name === NAME) await api.json('DELETE', `${ENDPOINTS}/${id}`);
}

/** Resolves with null once the job has run, or with the reason why no worker has a place. */
async function awaitJob(api: ApiClient, endpointId: string, jobId: string): Promise<string | null> {
  const startedAt = performance.now();
  for (;;) {
    const job = await api.json<Job>('GET', `/v2/${endpointId}/status/${jobId}`);
    if (job.status === 'COMPLETED' && job.output === INPUT.echo) return null;
    if (hasEnded(job.status))
      throw new Error(`the job of the proof ended as ${job.status}: ${job.error ?? job.output}`);
    const waitedMs = performance.now() - startedAt;
    if (job.status === 'IN_QUEUE' && waitedMs > PLACE_TIMEOUT_MS) {
      const { workers } = await api.json<{ workers: { status: string }[] }>(
        'GET',
        `${ENDPOINTS}/${endpointId}/workers`,
      );
      if (workers.some(({ status }) => status === 'THROTTLED')) return 'all CPUs are taken by other workers';
    }
    if (waitedMs > JOB_TIMEOUT_MS) {
      throw new Error(`the job of the proof is still ${job.status} after ${JOB_TIMEOUT_MS / 1000} s`);
    }
    await sleep(100);
  }
}

async function readAndCancel(api: ApiClient, endpointId: string, jobId: string): Promise<void> {
  const { status } = await api.json<Job>('GET', `/v2/${endpointId}/status/${jobId}`);
  if (status !== 'IN_QUEUE') throw new Error(`the job of the proof is ${status}, not IN_QUEUE`);
  await api.json('POST', `/v2/${endpointId}/cancel/${jobId}`);
}

/** Runs `work` with a key of an admin that exists for that time only, in case of a kill for 15 minutes. */
export async function withProofKey<T>(context: Context, work: (key: string) => Promise<T>): Promise<T> {
  const { DatabaseSide } = await import('../access/database-side.ts');
  const side = new DatabaseSide(context);
  const admin = (await side.listUsers()).find(({ role, suspension }) => role === 'ADMIN' && suspension === null);
  if (admin === undefined)
    throw new Error('no user is an active admin, so that no job can prove that the server works');
  const expiresAt = new Date(Date.now() + KEY_LIFETIME_MS).toISOString();
  const { userId, name } = admin;
  const key = await side.createKey({ userId }, { name: NAME, scopes: ['all'], expiresAt, restRevision: null });
  try {
    return await work(key.secret);
  } finally {
    await side.revokeKey({ userId, name }, key.id).catch((error) => {
      throw new Error(`the key of the proof could not be revoked: ${messageOf(error)}`);
    });
  }
}

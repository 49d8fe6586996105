/** Asks for one path again and again on one connection and says how long the answers took. See bystander.ts. */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { BystanderTask, Waits } from './bystander.ts';

const { url, headers, from = '127.0.0.1' } = workerData as BystanderTask;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const PAUSE_MS = 2;

function ask(): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent, localAddress: from }, (answer) => {
      answer
        .resume()
        .on('end', () => resolve(answer.statusCode!))
        .on('error', reject);
    });
    sent.on('error', reject).end();
  });
}

async function measure(durationMs: number): Promise<Waits> {
  const waits: number[] = [];
  const late: number[] = [];
  const faults: string[] = [];
  const endsAt = performance.now() + durationMs;
  while (performance.now() < endsAt) {
    const startedAt = performance.now();
    const status = await ask().catch(String);
    const endedAt = performance.now();
    waits.push(endedAt - startedAt);
    if (status !== 200) faults.push(String(status));
    await sleep(PAUSE_MS);
    late.push(performance.now() - endedAt - PAUSE_MS);
  }
  return { waits, late, faults };
}

parentPort!.on('message', async (durationMs: number) => parentPort!.postMessage(await measure(durationMs)));

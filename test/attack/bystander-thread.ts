/** Asks for one thing again and again on one connection and says how long the answers took. See bystander.ts. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { BystanderTask, Waits } from './bystander.ts';

const { url, method = 'GET', headers, body, from = '127.0.0.1', isStream, terminal } = workerData as BystanderTask;
const agent = isStream ? false : new Agent({ keepAlive: true, maxSockets: 1 });
const PAUSE_MS = 2;

function askOverHttp(): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent, localAddress: from }, (answer) => {
      answer.on('end', () => resolve(answer.statusCode!)).on('error', reject);
      if (isStream) {
        answer.once('data', () => {
          resolve(answer.statusCode!);
          sent.destroy();
        });
      } else answer.resume();
    });
    sent.on('error', reject).end(body);
  });
}

async function openTerminal(protocols: string[]): Promise<() => Promise<number>> {
  const socket = new WebSocket(url, protocols);
  socket.binaryType = 'arraybuffer';
  await once(socket, 'open');
  return async () => {
    const answered = new Promise<void>((resolve, reject) => {
      socket.onmessage = ({ data }) => typeof data !== 'string' && resolve();
      socket.onclose = ({ reason }) => reject(new Error(`the terminal was closed: ${reason}`));
    });
    socket.send(Buffer.from('\0x\n'));
    await answered;
    return 200;
  };
}

const ask = terminal ? await openTerminal(terminal.protocols) : askOverHttp;

async function measure(durationMs: number, atLeast: number): Promise<Waits> {
  const waits: number[] = [];
  const late: number[] = [];
  const faults: string[] = [];
  const beganAt = performance.now();
  const isOver = () => performance.now() - beganAt > (waits.length < atLeast ? 5 : 1) * durationMs;
  while (!isOver()) {
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

parentPort!.on('message', async ({ durationMs, atLeast }: { durationMs: number; atLeast: number }) =>
  parentPort!.postMessage(await measure(durationMs, atLeast)),
);

import { execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { KEY } from '../queue/podyard.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import type { Subject, Target } from './subjects.ts';

const BODY_BYTES = 2 ** 30;
const HEAD_END = '\r\n\r\n';

export interface Throughput {
  perSecond: number;
  cpuUs: number;
  kernelUs: number;
  errors: number;
}

/** Full load by wrk, on one thread to take little of the shared machine. */
export async function measureThroughput(subject: Subject, connections: number, seconds: number): Promise<Throughput> {
  const { port, host } = subject.quick;
  const before = usageOfTree(subject.pid);
  const { stdout } = await promisify(execFile)('wrk', [
    ...['-t1', `-c${connections}`, `-d${seconds}s`, '-H', `Host: ${host}`, '-H', `Authorization: Bearer ${KEY}`],
    `http://127.0.0.1:${port}/hello`,
  ]);
  const after = usageOfTree(subject.pid);
  const requests = Number(/(\d+) requests in/.exec(stdout)![1]);
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0;
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)?.slice(1) ?? [];
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)![1]),
    cpuUs: ((after.cpuSeconds - before.cpuSeconds) / requests) * 1e6,
    kernelUs: ((after.systemSeconds - before.systemSeconds) / requests) * 1e6,
    errors: Number(failed) + broken.reduce((sum, count) => sum + Number(count), 0),
  };
}

const requestFor = ({ host }: Target, path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${KEY}\r\n${more}\r\n`;

async function open({ port }: Target): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

/** Sends one request. Resolves with the time to the response's head in ms; rejects unless it succeeded. */
function exchange(socket: Socket, request: string): Promise<number> {
  const sentAt = performance.now();
  return new Promise((resolve, reject) => {
    socket.removeAllListeners('data').removeAllListeners('close');
    let head = '';
    socket.on('data', (piece: Buffer) => {
      head += piece.toString('latin1', 0, 4096);
      if (!head.includes(HEAD_END)) return;
      if (/^HTTP\/1.1 (101|2)/.test(head)) resolve(performance.now() - sentAt);
      else reject(new Error(head.slice(0, 200)));
    });
    socket.once('close', () => reject(new Error('connection closed')));
    socket.write(request);
  });
}

export interface Latency {
  p50: number;
  p95: number;
  p99: number;
  errors: number;
}

function summarize(latencies: number[], errors: number): Latency {
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), errors };
}

/** Sends `perSecond` requests per second, evenly spaced, each on an idle connection. */
export async function measureLatency(subject: Subject, perSecond: number, seconds: number): Promise<Latency> {
  const request = requestFor(subject.quick, '/hello');
  const free: Socket[] = await Promise.all(Array.from({ length: 50 }, () => open(subject.quick)));
  const all = [...free];
  const latencies: number[] = [];
  let errors = 0;
  const inFlight: Promise<unknown>[] = [];
  const startedAt = performance.now();
  for (let sent = 0; sent < perSecond * seconds; ) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
    for (; sent < due; sent++) {
      const socket = free.pop();
      if (!socket) continue; // all are busy: the machine is overloaded
      const one = exchange(socket, request).then(
        (ms) => {
          if (sent > perSecond / 2) latencies.push(ms); // the first half second warms up
          free.push(socket);
        },
        () => {
          errors += 1;
        },
      );
      inFlight.push(one);
    }
    await sleep(1);
  }
  await Promise.all(inFlight);
  for (const socket of all) socket.destroy();
  return summarize(latencies, errors);
}

export interface Transfer {
  downMbPerSecond: number;
  upMbPerSecond: number;
  /** The growth of its memory while it passed 1 GiB each way. */
  memoryMb: number;
}

/** 1 GiB down, then 1 GiB up. */
export async function measureBodies(subject: Subject): Promise<Transfer> {
  const before = usageOfTree(subject.pid).rssMb;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, usageOfTree(subject.pid).rssMb);
  }, 100);
  const down = await timeTransfer(subject.rich, requestFor(subject.rich, `/bytes/${BODY_BYTES}`), 0, BODY_BYTES);
  const head = requestFor(subject.rich, '/', `Content-Length: ${BODY_BYTES}\r\n`).replace(/^GET/, 'POST');
  const up = await timeTransfer(subject.rich, head, BODY_BYTES, 1);
  clearInterval(watch);
  const mb = BODY_BYTES / 1e6;
  return { downMbPerSecond: mb / down, upMbPerSecond: mb / up, memoryMb: most - before };
}

/** Returns the seconds from the request until more than `expected` bytes of response have arrived. */
async function timeTransfer(target: Target, head: string, bodyBytes: number, expected: number): Promise<number> {
  const socket = await open(target);
  const startedAt = performance.now();
  const answered = new Promise<void>((resolve, reject) => {
    let received = 0;
    socket.on('data', (piece: Buffer) => {
      if (received === 0 && !piece.toString('latin1', 0, 12).includes(' 200'))
        reject(new Error(piece.toString('latin1')));
      received += piece.length;
      if (received > expected) resolve();
    });
    socket.once('close', () => reject(new Error('connection closed')));
  });
  socket.write(head);
  const piece = Buffer.alloc(262_144, 'x');
  for (let left = bodyBytes; left > 0; left -= piece.length) {
    if (!socket.write(piece)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answered]);
  }
  await answered;
  socket.destroy();
  return (performance.now() - startedAt) / 1000;
}

/** Returns the KiB of memory per idle WebSocket. */
export async function measureSockets(subject: Subject, count: number): Promise<number> {
  const request = requestFor(subject.rich, '/chat', 'Connection: Upgrade\r\nUpgrade: echo\r\n');
  const openSome = async (some: number) => {
    const sockets: Socket[] = [];
    for (let i = 0; i < some; i += 100) {
      const more = await Promise.all(Array.from({ length: 100 }, () => open(subject.rich)));
      await Promise.all(more.map((socket) => exchange(socket, request)));
      sockets.push(...more);
    }
    return sockets;
  };
  const warm = await openSome(200);
  const before = usageOfTree(subject.pid).rssMb;
  const sockets = await openSome(count);
  await sleep(1000);
  const after = usageOfTree(subject.pid).rssMb;
  for (const socket of [...warm, ...sockets]) socket.destroy();
  return ((after - before) * 1024) / count;
}

/** Increases concurrency in steps. Each connection sends its next request after its response, which takes the upstream 100 ms. */
export async function measureRamp(subject: Subject, steps: readonly number[], seconds: number): Promise<Latency[]> {
  const request = requestFor(subject.rich, '/slow');
  const sockets: Socket[] = [];
  const results: Latency[] = [];
  for (const concurrency of steps) {
    let latencies: number[] = [];
    let errors = 0;
    let isOver = false;
    while (sockets.length < concurrency)
      sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => open(subject.rich)))));
    const play = async (socket: Socket, i: number) => {
      await sleep((i * 100) / concurrency); // evenly spread over the 100 ms
      while (!isOver) {
        await exchange(socket, request).then(
          (ms) => latencies.push(ms),
          () => {
            errors += 1;
            isOver = true;
          },
        );
      }
    };
    const playing = sockets.map(play);
    await sleep(1000);
    latencies = [];
    await sleep(seconds * 1000);
    isOver = true;
    await Promise.all(playing);
    results.push(summarize(latencies, errors));
    if (errors > 0) break;
  }
  for (const socket of sockets) socket.destroy();
  return results;
}

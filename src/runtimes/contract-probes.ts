/** How the contract suite observes a runtime: by its list, its logs and its ports. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLine, Observed, Runtime } from './runtime.ts';

export const TIMEOUT_MS = 15_000;

/** Returns the response of the address; `nothing` when there is none. */
export async function textAt(place: { host: string; port: number } | null): Promise<string> {
  if (place === null) return 'nothing';
  const url = `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${place.port}/`;
  return fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
    (answer) => answer.text(),
    () => 'nothing',
  );
}

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** A signal that aborts only when a test hangs. */
export function never(): AbortSignal {
  return AbortSignal.timeout(TIMEOUT_MS);
}

/** Returns the listed workload. Throws when it is not listed. */
export async function observe(runtime: Runtime, id: string): Promise<Observed> {
  const seen = (await runtime.list()).find((one) => one.id === id);
  if (!seen) throw new Error(`workload ${id} is not listed`);
  return seen;
}

/** Resolves once the workload is as wanted, checking at each event of `watch` and every second. Fails on timeout. */
export async function until(
  runtime: Runtime,
  id: string,
  isWanted: (seen: Observed | undefined) => boolean,
): Promise<Observed | undefined> {
  let wake = () => {};
  const unwatch = runtime.watch(() => wake());
  const deadline = performance.now() + TIMEOUT_MS;
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const seen = (await runtime.list()).find((one) => one.id === id);
      if (isWanted(seen)) return seen;
      if (performance.now() > deadline) throw new Error(`workload ${id} is not as wanted: ${JSON.stringify(seen)}`);
      await Promise.race([changed, sleep(1000)]); // an event is a hint; the list is the truth
    }
  } finally {
    unwatch();
  }
}

/** Follows the logs until `isWanted` accepts a line. */
export async function lineOf(
  runtime: Runtime,
  id: string,
  isWanted: (line: string, ts: Date) => boolean,
  from: { since?: Date; seen?: number } = {},
): Promise<void> {
  const lines: string[] = [];
  for await (const { line, ts } of runtime.logs(id, { ...from, follow: true, signal: never() })) {
    lines.push(line);
    if (isWanted(line, ts)) return;
  }
  throw new Error(`the line never came; got ${JSON.stringify(lines.slice(-20))}`);
}

/** Reads all lines. */
export async function collect(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

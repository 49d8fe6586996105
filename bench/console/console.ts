import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasBrowser, launchBrowser } from '../../test/browser/browser.ts';
import { ServerProcess } from '../../test/e2e/server-process.ts';
import { readOptions } from '../options.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, writeResults } from '../results.ts';
import { copyEndpoint, measureList } from './measure-list.ts';

const WATCHERS = 100;
const PAINTS = 7;
const JOBS_A_SECOND = 20;

/** `node bench/main.ts console`: see bench/README.md. Prints a table, writes JSON. */
export async function benchConsole(args: string[]): Promise<void> {
  const values = readOptions(args, { seconds: { type: 'string', default: '10' } });
  const startedAt = new Date().toISOString();
  const server = await ServerProcess.start({ runtime: 'process', env: { PODYARD_RATE_LIMIT: 'off' } });
  try {
    const seconds = Number(values.seconds);
    const endpointId = await createEndpoint(server);
    await runJob(server, endpointId);
    const idle = {
      none: await measure(server, endpointId, 0, 0, seconds),
      all: await measure(server, endpointId, WATCHERS, 0, seconds),
    };
    const busy = {
      none: await measure(server, endpointId, 0, JOBS_A_SECOND, seconds),
      all: await measure(server, endpointId, WATCHERS, JOBS_A_SECOND, seconds),
    };
    const paintMs = hasBrowser ? await measurePaints(server) : [];
    await copyEndpoint(server, endpointId);
    const listMs = hasBrowser ? await measureList(server) : { first: [], again: [] };
    const percent = (value: number) => `${value.toFixed(1)} %`;
    process.stdout.write(
      renderTable([
        ['CPU of the server, of one core', 'nobody watches', `${WATCHERS} watch`, 'cost of watching'],
        ['endpoint at rest', percent(idle.none), percent(idle.all), percent(idle.all - idle.none)],
        [`${JOBS_A_SECOND} jobs/s`, percent(busy.none), percent(busy.all), percent(busy.all - busy.none)],
      ]),
    );
    process.stdout.write(`first contentful paint, ms: ${wholeMs(paintMs)}\n`);
    process.stdout.write(`list of 10,000 endpoints, first time, ms: ${wholeMs(listMs.first)}\n`);
    process.stdout.write(`list of 10,000 endpoints, again, ms: ${wholeMs(listMs.again)}\n`);
    const report = { startedAt, machine: describeMachine(tmpdir()), idle, busy, paintMs, listMs };
    await writeResults('console', report);
  } finally {
    await server.dispose();
  }
}

function wholeMs(times: readonly number[]): string {
  return times.map((ms) => ms.toFixed(0)).join(' ');
}

function headers(server: ServerProcess): Record<string, string> {
  return { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
}

async function createEndpoint(server: ServerProcess): Promise<string> {
  const body = JSON.stringify({
    name: 'watched',
    image: 'podyard/echo-js:dev',
    gpu: { pools: ['ADA_24'] },
    workers: { min: 1, max: 1 },
  });
  const answer = await fetch(`${server.url}/v2/serverless`, { method: 'POST', body, headers: headers(server) });
  return ((await answer.json()) as { id: string }).id;
}

async function runJob(server: ServerProcess, endpointId: string): Promise<void> {
  const init = { method: 'POST', body: '{"input":{"echo":1}}', headers: headers(server) };
  await (await fetch(`${server.url}/v2/${endpointId}/runsync`, init)).text();
}

/** Returns the server's use of one core, in percent, while `watchers` follow an endpoint that gets `jobsPerSecond`. */
async function measure(
  server: ServerProcess,
  endpointId: string,
  watchers: number,
  jobsPerSecond: number,
  seconds: number,
): Promise<number> {
  const end = new AbortController();
  const streams = Array.from({ length: watchers }, async () => {
    const init = { headers: headers(server), signal: end.signal };
    const stream = await fetch(`${server.url}/v2/serverless/${endpointId}/live`, init);
    for await (const _ of stream.body!);
  });
  const watching = Promise.allSettled(streams);
  await sleep(1_500); // all connected
  const before = usageOfTree(server.pid);
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1000) {
    if (jobsPerSecond > 0) void runJob(server, endpointId);
    await sleep(1000 / Math.max(1, jobsPerSecond));
  }
  const after = usageOfTree(server.pid);
  const elapsedMs = performance.now() - startedAt;
  end.abort();
  await watching;
  return (100_000 * (after.cpuSeconds - before.cpuSeconds)) / elapsedMs;
}

/** First contentful paint of the sign-in page, with an empty cache each time, in ms. */
async function measurePaints(server: ServerProcess): Promise<number[]> {
  const browser = await launchBrowser();
  try {
    const paints: number[] = [];
    for (let i = 0; i < PAINTS; i++) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${server.url}/`);
      await page.getByLabel('API key').waitFor();
      paints.push(
        (await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime')) as number,
      );
      await context.close();
    }
    return paints.toSorted((a, b) => a - b);
  } finally {
    await browser.close();
  }
}

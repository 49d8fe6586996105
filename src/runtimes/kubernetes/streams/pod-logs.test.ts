import { afterEach, expect, test } from 'vitest';
import { send, startFakeCluster } from '../../../../test/fake-api-server.ts';
import type { LogLine } from '../../runtime.ts';
import type { Pod } from '../api/objects.ts';
import { LogText } from './pod-logs.ts';

let cluster: Awaited<ReturnType<typeof startFakeCluster>> | undefined;

afterEach(async () => {
  await cluster?.close();
  cluster = undefined;
});

async function firstLine(lines: AsyncIterable<LogLine>): Promise<string | undefined> {
  for await (const { line } of lines) return line;
  return undefined;
}

const stamp = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString().replace('Z', '000000Z');
const ended: Pod['status'] = {
  phase: 'Succeeded',
  containerStatuses: [{ name: 'workload', state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
};

test('each line is read once, in order, across broken and truncated streams', async () => {
  const lines = [0, 400, 400, 1500, 1500, 2000].map((ms, i) => `${stamp(ms)} line ${i}\n`);
  let pass = 0;
  cluster = await startFakeCluster((url, response) => {
    if (!url.pathname.endsWith('/log')) return false;
    const since = Date.parse(url.searchParams.get('sinceTime') ?? '1970-01-01T00:00:00Z');
    const rest = lines.filter((line) => Date.parse(line.split(' ')[0]!) >= since);
    pass += 1;
    response.writeHead(200);
    if (pass === 1) response.write(rest.slice(0, 2).join(''), () => response.destroy());
    else if (pass === 2) response.end(rest.slice(0, 4).join('') + lines[4]!.slice(0, -5));
    else {
      response.end(rest.join(''));
      cluster!.change(ended);
    }
    return true;
  });
  const read: LogLine[] = [];
  const signal = AbortSignal.timeout(30_000);
  for await (const line of cluster.runtime.logs('w1', { follow: true, signal })) read.push(line);
  expect(read.map(({ line }) => line)).toEqual(lines.map((_, i) => `line ${i}`));
  expect(pass).toBeGreaterThanOrEqual(3);
});

test('the last lines are asked for by number, also after the end; a pod without a container or that is gone has none', async () => {
  const asked: string[] = [];
  let status = 200;
  cluster = await startFakeCluster((url, response) => {
    if (!url.pathname.endsWith('/log')) return false;
    asked.push(url.search);
    if (status === 200) response.writeHead(200).end(`${stamp(1)} one\n${stamp(2)} Error: no model`);
    else send(response, { message: 'is waiting to start: ContainerCreating' }, status);
    return true;
  });
  const { runtime } = cluster;
  expect(await runtime.lastOutput('w1', 24)).toEqual(['one', 'Error: no model']);
  cluster.change(ended);
  expect(await runtime.lastOutput('w1', 1)).toEqual(['Error: no model']);
  expect(asked).toEqual([
    '?container=workload&timestamps=true&tailLines=24',
    '?container=workload&timestamps=true&tailLines=1',
  ]);
  for (status of [400, 404]) expect(await runtime.lastOutput('w1', 24)).toEqual([]);
  expect(await runtime.lastOutput('unknown', 24)).toEqual([]);
});

test('an unreachable node is probed by one of many followers; a single read fails at once', async () => {
  let asked = 0;
  cluster = await startFakeCluster((url, response) => {
    if (!url.pathname.endsWith('/log')) return false;
    asked += 1;
    send(response, { message: 'dial tcp 10.0.0.9:10250: connect: connection refused' }, 500);
    return true;
  });
  const { runtime } = cluster;
  await runtime.list();
  const abort = new AbortController();
  const readers = Array.from({ length: 50 }, async () => {
    for await (const _ of runtime.logs('w1', { follow: true, signal: abort.signal }));
  });
  await cluster.fake.requested('/log', 1);
  await new Promise((resolve) => setTimeout(resolve, 300)); // nobody else may ask during this time
  expect(asked).toBe(1);
  abort.abort();
  await Promise.all(readers);
  const lines = runtime.logs('w1', { follow: false, signal: AbortSignal.timeout(5_000) });
  await expect(lines[Symbol.asyncIterator]().next()).rejects.toThrow('connection refused');
});

test('a silent program does not delay the lines of others', async () => {
  let asked = 0;
  cluster = await startFakeCluster((url, response) => {
    if (!url.pathname.endsWith('/log')) return false;
    asked += 1;
    if (asked > 1) response.writeHead(200).write(`${stamp(1)} hello\n`); // no response to the first: nothing is printed
    return true;
  });
  const { runtime } = cluster;
  const abort = new AbortController();
  const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(10_000)]);
  const silent = runtime.logs('w1', { follow: true, signal })[Symbol.asyncIterator]().next();
  await cluster.fake.requested('/log', 1);
  expect(await firstLine(runtime.logs('w1', { follow: true, signal }))).toBe('hello');
  expect(asked).toBe(2);
  expect(signal.aborted).toBe(false);
  abort.abort();
  await silent;
});

test.each([400, 500])(
  'a refusal for one pod, with %i, does not block the node’s other pods',
  async (status) => {
    let asked = 0;
    cluster = await startFakeCluster((url, response) => {
      if (!url.pathname.endsWith('/log')) return false;
      asked += 1;
      if (asked === 1) send(response, { message: 'container "workload" in pod "podyard-w0" is terminated' }, status);
      else response.writeHead(200).write(`${stamp(1)} hello\n`);
      return true;
    });
    const signal = AbortSignal.timeout(4_000); // shorter than the pause after a failure
    expect(await firstLine(cluster.runtime.logs('w1', { follow: true, signal }))).toBe('hello');
  },
  20_000,
);

test('the lines of a pod that ends are read at once, whatever its node did before', async () => {
  let asked = 0;
  cluster = await startFakeCluster((url, response) => {
    if (!url.pathname.endsWith('/log')) return false;
    asked += 1;
    if (asked === 1) send(response, { message: 'dial tcp 10.0.0.9:10250: connect: connection refused' }, 500);
    else response.writeHead(200).write(`${stamp(1)} last words\n`);
    return true;
  });
  const signal = AbortSignal.timeout(3_000); // shorter than the node's pause
  const line = firstLine(cluster.runtime.logs('w1', { follow: true, signal }));
  await cluster.fake.requested('/log', 1);
  cluster.pod.metadata.deletionTimestamp = '2026-01-01T00:00:30Z';
  cluster.change(undefined);
  expect(await line).toBe('last words');
});

test('a line split across chunks is one line, and text without a time is none', () => {
  const text = Buffer.from(
    `${stamp(1)} grüße\r\n${stamp(2)} \nunable to retrieve container logs for x\n${stamp(3)} open`,
  );
  for (const size of [1, 7, 1000]) {
    const log = new LogText();
    const lines: LogLine[] = [];
    for (let at = 0; at < text.length; at += size) lines.push(...log.take(text.subarray(at, at + size)));
    expect(lines.map(({ line }) => line)).toEqual(['grüße', '']);
    expect(log.end().map(({ ts, line }) => [ts.getTime() % 1000, line])).toEqual([[3, 'open']]);
  }
});

test('a line longer than 256 Ki characters is returned in stable pieces', () => {
  const log = new LogText();
  const long = 'x'.repeat(600_000);
  const lines = [...log.take(Buffer.from(`${stamp(1)} ${long}\n`))];
  expect(lines.map(({ line }) => line.length)).toEqual([262_144, 262_144, 75_712]);
});

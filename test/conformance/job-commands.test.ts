/** `podyard run` and `podyard jobs` against a whole server; docs/interface/queue.md, "Cancel, retry and purge". */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { type CliRun, runRemote } from '../cli-fixture.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
let home: string;
let endpoint: EndpointId;
let idle: EndpointId;
let worker: FakeWorker;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 3_000 });
  endpoint = await plane.endpoint(1, { name: 'echo' });
  idle = await plane.endpoint(0, { name: 'idle' });
  worker = await plane.worker(endpoint);
  home = await mkdtemp(join(tmpdir(), 'podyard-jobs-'));
});
afterAll(async () => {
  await plane.close();
  await rm(home, { recursive: true });
});

const podyard = (args: string[], more: Parameters<typeof runRemote>[1] = {}): Promise<CliRun> =>
  runRemote(args, { ...more, env: { PODYARD_URL: plane.url, PODYARD_API_KEY: 'pyk_test-admin', HOME: home } });
const submit = async (name: string) => (await podyard(['run', name, '{"n":1}', '--async'])).out;
const statusOf = async (id: string) => (await plane.sql('select status from jobs where id = $1', id))[0]?.status;

/** Starts `run` on the endpoint without workers, and presses Ctrl-C once the job is queued. */
async function interruptRun(...options: string[]): Promise<CliRun & { id: string }> {
  await plane.sql('delete from jobs where endpoint_id = $1', idle);
  const interrupt = new AbortController();
  const run = podyard(['run', 'idle', ...options], { interrupt: interrupt.signal });
  const queued = () => plane.sql('select id from jobs where endpoint_id = $1', idle);
  const [job] = await until(queued, (jobs) => jobs.length === 1);
  interrupt.abort();
  return { ...(await run), id: job.id };
}

test('Ctrl-C of run leaves the job alone, and says its id, how to follow and how to cancel it', async () => {
  const { id, status, out, err } = await interruptRun();
  expect([status, out]).toEqual([130, '']);
  expect(err).toContain(
    `Job ${id} keeps running. Follow it: podyard jobs follow idle ${id}; cancel it: podyard jobs cancel idle ${id}`,
  );
  expect(await statusOf(id)).toBe('IN_QUEUE');
});

test('with --cancel-on-interrupt, Ctrl-C of run cancels the job', async () => {
  const { id, status, err } = await interruptRun('--cancel-on-interrupt');
  expect([status, err]).toEqual([130, expect.stringContaining(`Job ${id} is CANCELLED.`)]);
  expect(await statusOf(id)).not.toBe('IN_QUEUE');
});

test('the exception of a job is its message, with the traceback on lines of its own', async () => {
  const run = podyard(['run', 'echo', '{"n":7}']);
  const traceback = 'Traceback (most recent call last):\n  File "handler.py", line 3, in handler\nValueError: no voice';
  const error = { error_type: "<class 'ValueError'>", error_message: 'no voice', error_traceback: traceback };
  await worker.work(JSON.stringify({ error: JSON.stringify({ ...error, hostname: 'h', worker_id: 'w' }) }));
  const { status, out, err } = await run;
  expect([status, out]).toEqual([7, '']);
  expect(err).toContain(`podyard: the job ended FAILED: ValueError: no voice\n${traceback}`);
  const listed = await podyard(['jobs', 'echo', '--error', 'no voice']);
  expect(listed.out).toMatch(/ FAILED .* ValueError: no voice$/);
  const id = listed.out.split('\n').at(-1)!.split(' ')[0]!;
  const shown = await podyard(['jobs', 'get', 'echo', id]);
  expect(shown.out).toContain(`ERROR\nValueError: no voice\n${traceback}`);
});

test('a job is followed to its end, shown, and retried', async () => {
  const id = await submit('echo');
  const follow = podyard(['jobs', 'follow', 'echo', id]);
  await worker.work('{"error":"Traceback\\n\\u001b[31mValueError: no model"}');
  expect(await follow).toMatchObject({ status: 7, err: expect.stringContaining('FAILED: waited') });
  expect((await podyard(['jobs', 'echo', '--error', 'no model'])).out).toMatch(/ FAILED .* ValueError: no model$/);
  const shown = await podyard(['jobs', 'get', 'echo', id]);
  expect(shown.out).toMatch(/^status +FAILED$/m);
  expect(shown.out).toMatch(/^ATTEMPT +STAGE +FROM +MS +WORKER +WHY$/m);
  expect(shown.out).toMatch(/^INPUT\n\{\n {2}"n": 1\n\}/m);
  expect(await podyard(['jobs', 'get', 'echo', id, '--input'])).toMatchObject({ out: '{"n":1}\n\n' });
  expect(await podyard(['jobs', 'retry', 'echo', id])).toMatchObject({ status: 0, out: `${id}  IN_QUEUE` });
  const again = podyard(['jobs', 'follow', 'echo', id, '--json']);
  await worker.work('{"output":"done"}');
  expect(JSON.parse((await again).out)).toMatchObject({ id, status: 'COMPLETED', output: 'done' });
  expect((await podyard(['jobs', 'get', 'echo', id, '--output'])).out).toBe('"done"\n\n');
  expect(await podyard(['jobs', 'retry', 'echo', id])).toMatchObject({ status: 5 });
});

test('a job is cancelled, and a queue purged after its endpoint is named', async () => {
  const [first] = [await submit('idle'), await submit('idle'), await submit('idle')];
  expect(await podyard(['jobs', 'cancel', 'idle', first, '--json'])).toMatchObject({ status: 0 });
  expect(await podyard(['jobs', 'purge', 'idle'])).toMatchObject({ status: 2 });
  expect(await podyard(['jobs', 'purge', 'idle'], { answers: ['echo'] })).toMatchObject({ status: 1 });
  const purged = await podyard(['jobs', 'purge', 'idle'], { answers: ['idle'] });
  expect(purged.err).toMatch(/^Cancelled \d+ queued jobs? of idle\.$/);
  expect((await podyard(['jobs', 'purge', 'idle', '--yes', '--json'])).out).toContain('"removed": 0');
  expect(await podyard(['jobs', 'get', 'idle', 'nothing'])).toMatchObject({ status: 4 });
});

test.each(['run echo', 'run echo --stream'])(
  'without a terminal, %s says on stderr why the job waits, once per state',
  async (words) => {
    let explained = 0;
    const onRequest = (message: unknown) => {
      if ((message as { request: ClientRequest }).request.path.endsWith('explain=1')) explained += 1;
    };
    subscribe('http.client.request.start', onRequest);
    const run = podyard([...words.split(' '), '{"n":1}']);
    await until(
      async () => explained,
      (count) => count >= 3,
    );
    unsubscribe('http.client.request.start', onRequest);
    await worker.work('{"output":"done"}');
    const { status, out, err } = await run;
    expect([status, out]).toEqual([0, words.endsWith('--stream') ? '' : 'done']);
    expect(err).toMatch(/^IN_QUEUE: .+\n(IN_PROGRESS on worker \w+\n)?COMPLETED: waited/);
  },
);

import { expect, test } from 'vitest';
import { isJson, type Job, runJob } from './run-job.ts';

/** Runs a job against a server that answers with these states. */
async function run(inputJson: string, ...states: Job['status'][]) {
  const calls: { path: string; body: unknown }[] = [];
  const seen: string[] = [];
  const send = async (path: string, init?: RequestInit) => {
    calls.push({ path, body: init?.body });
    return Response.json({ id: 'j1', status: states.shift() ?? 'COMPLETED' });
  };
  await runJob(send, 'e1', inputJson, ({ status }) => seen.push(status));
  return { calls, seen };
}

test('a job is submitted once and followed until it is final', async () => {
  const { calls, seen } = await run('{}', 'IN_QUEUE', 'IN_PROGRESS', 'COMPLETED');
  expect(seen).toEqual(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']);
  expect(calls.map(({ path }) => path)).toEqual([
    '/v2/e1/run',
    '/v2/e1/status-sync/j1?wait=10000',
    '/v2/e1/status-sync/j1?wait=10000',
  ]);
});

test.each(['FAILED', 'CANCELLED', 'TIMED_OUT'])('%s is final', async (status) => {
  expect((await run('{}', 'IN_QUEUE', status)).seen).toEqual(['IN_QUEUE', status]);
});

test('the input is sent as entered', async () => {
  const { calls } = await run('{"big": 12345678901234567890}', 'COMPLETED');
  expect(calls[0]!.body).toBe('{"input":{"big": 12345678901234567890}}');
});

test('a server error ends the run', async () => {
  const failing = () => Promise.reject(new Error('the endpoint does not exist'));
  await expect(runJob(failing, 'e1', '{}', () => {})).rejects.toThrow('the endpoint does not exist');
});

test('JSON is distinguished from other text', () => {
  expect(['{"a": 1}', '1', 'null', '', '{a: 1}'].map(isJson)).toEqual([true, true, true, false, false]);
});

import { expect, test } from 'vitest';
import { submitJob } from './run-job.ts';

test('the input is sent as entered, once', async () => {
  const calls: { path: string; body: unknown }[] = [];
  const send = async (path: string, init?: RequestInit) => {
    calls.push({ path, body: init?.body });
    return Response.json({ id: 'j1', status: 'IN_QUEUE' });
  };
  expect(await submitJob(send, 'e1', '{"big": 12345678901234567890}')).toBe('j1');
  expect(calls).toEqual([{ path: '/v2/e1/run', body: '{"input":{"big": 12345678901234567890}}' }]);
});

test('a refusal is thrown', async () => {
  const failing = () => Promise.reject(new Error('the endpoint does not exist'));
  await expect(submitJob(failing, 'e1', '{}')).rejects.toThrow('the endpoint does not exist');
});

import { expect, test } from 'vitest';
import { readApiError } from './api-error.ts';

test('an error carries the status, the detail and the field errors of a problem record', async () => {
  const body = { detail: 'the body is invalid', errors: ['/name: is required'] };
  const error = await readApiError(Response.json(body, { status: 422 }));
  expect(error).toMatchObject({ status: 422, message: 'the body is invalid', errors: ['/name: is required'] });
});

test("the queue API's error text becomes the detail", async () => {
  const error = await readApiError(Response.json({ error: 'job not found' }, { status: 404 }));
  expect(error.message).toBe('job not found');
  expect(error.errors).toEqual([]);
});

test('a response without a JSON body is described by its status', async () => {
  const error = await readApiError(new Response('<html>', { status: 502 }));
  expect(error.message).toBe('The server responded with status 502.');
});

test('a body that was read already is not read again', async () => {
  const response = new Response(null, { status: 400 });
  expect((await readApiError(response, { detail: 'no' })).message).toBe('no');
});

test('a throttled request says when to try again', async () => {
  const response = Response.json({ detail: 'rate limit exceeded' }, { status: 429, headers: { 'retry-after': '3' } });
  expect((await readApiError(response)).message).toBe('rate limit exceeded; try again in 3 s');
});

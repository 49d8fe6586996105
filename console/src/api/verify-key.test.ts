import { expect, test } from 'vitest';
import { verifyKey } from './verify-key.ts';

const BASE_URL = 'http://127.0.0.1:8080';
const verify = (response: Response) => verifyKey(async () => response, BASE_URL, 'pyk_test');

test('the key is sent in the header, to the account', async () => {
  const calls: unknown[][] = [];
  const fetchFn: typeof fetch = async (...call) => {
    calls.push(call);
    return Response.json({});
  };
  await verifyKey(fetchFn, BASE_URL, 'pyk_test');
  expect(calls).toEqual([['http://127.0.0.1:8080/v2/account', { headers: { authorization: 'Bearer pyk_test' } }]]);
});

test('a key without access to the account is valid', async () => {
  await expect(verify(Response.json({ detail: 'forbidden' }, { status: 403 }))).resolves.toBeUndefined();
});

test("a wrong key is rejected with the server's message", async () => {
  const response = Response.json({ detail: 'invalid bearer token' }, { status: 401 });
  await expect(verify(response)).rejects.toMatchObject({ status: 401, message: 'invalid bearer token' });
});

test('an unreachable server is not reported as a wrong key', async () => {
  const offline = () => Promise.reject(new TypeError('failed to fetch'));
  await expect(verifyKey(offline, BASE_URL, 'pyk_test')).rejects.toMatchObject({
    status: 0,
    message: "Can't reach the server.",
  });
});

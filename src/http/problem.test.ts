import { expect, test } from 'vitest';
import { Failure } from '../core/errors.ts';
import { type Logger, silentLogger } from '../core/logger.ts';
import { logFailure, rawProblem, renderProblem } from './problem.ts';

test('a failure is rendered with its status, title and detail, and with errors only where it has some', () => {
  const problem = { title: 'Not Found', status: 404, detail: 'Pod not found' };
  expect(renderProblem(new Failure('notFound', 'Pod not found'))).toEqual({ status: 404, headers: [], problem });
  const invalid = new Failure('unprocessable', 'The body is invalid.', { errors: ['/name: is required'] });
  expect(renderProblem(invalid).problem.errors).toEqual(['/name: is required']);
});

test('a 401 names the scheme, and Retry-After is sent where the failure has one', () => {
  expect(renderProblem(new Failure('unauthorized', 'x')).headers).toEqual(['WWW-Authenticate', 'Bearer']);
  const limited = new Failure('tooManyRequests', 'x', { retryAfterSeconds: 7 });
  expect(renderProblem(limited).headers).toEqual(['Retry-After', '7']);
});

test('an unexpected error is a 500 that does not show its text', () => {
  const { status, problem } = renderProblem(new Error('password=secret'));
  expect(status).toBe(500);
  expect(problem.detail).toBe('An unexpected error occurred.');
});

test('a raw problem is a complete response that closes the connection', () => {
  const [head, body] = rawProblem(new Failure('headersTooLarge', 'Too large: ü.')).split('\r\n\r\n') as [
    string,
    string,
  ];
  expect(head).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
  expect(head).toMatch(/^Connection: close$/m);
  expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
  expect(JSON.parse(body)).toMatchObject({ status: 431, detail: 'Too large: ü.' });
});

test('the log names the cause of a failure, or the failure itself', () => {
  const logged: unknown[][] = [];
  const logger: Logger = { ...silentLogger, error: (...args: unknown[]) => void logged.push(args) };
  const cause = new Error('connection refused');
  logFailure(logger, new Failure('unavailable', 'Try again.', { cause }), { requestId: 'r' });
  const alone = new Failure('unavailable', 'This process is stopping.');
  logFailure(logger, alone, {});
  expect(logged).toEqual([
    [{ requestId: 'r', err: cause }, 'request failed: connection refused'],
    [{ err: alone }, 'request failed: This process is stopping.'],
  ]);
});

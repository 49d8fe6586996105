import { expect, test } from 'vitest';
import { healthPath } from './health-path.ts';

test.each([
  ['', '/ping'],
  ['/healthz', '/healthz'],
  ['healthz?deep=1', '/healthz?deep=1'],
  ['/a b', '/ping'],
  ['/x\r\nHost: other', '/ping'],
  ['/ü', '/ping'],
])('HEALTH_CHECK_PATH %j is asked as %j', (text, path) => {
  expect(healthPath(text)).toBe(path);
});

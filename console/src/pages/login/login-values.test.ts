import { expect, test } from 'vitest';
import { readWaitingCli, returnUrl } from './login-values.ts';

const WHOLE = { host: 'my-laptop.local', port: '43210', state: 's'.repeat(43), challenge: 'c'.repeat(43) };
const read = (changes: Record<string, string> = {}) => readWaitingCli(new URLSearchParams({ ...WHOLE, ...changes }));

test('a whole address names the command line that waits', () => {
  expect(read()).toEqual({ ...WHOLE, port: 43_210 });
});

test.each<Record<string, string>>([
  { host: '' },
  { host: 'evil.example/<b>' },
  { port: '80' },
  { port: '65536' },
  { port: '43210@evil.example' },
  { port: '1e4' },
  { state: 'short' },
  { challenge: `${'c'.repeat(42)}&` },
])('an address that is not is ignored: %j', (changes) => {
  expect(read(changes)).toBeNull();
});

test('the browser only ever returns to a loopback address', () => {
  expect(returnUrl(read()!, 'pyl_1')).toBe(`http://127.0.0.1:43210/callback?code=pyl_1&state=${WHOLE.state}`);
  expect(returnUrl(read()!, null)).toBe(`http://127.0.0.1:43210/callback?error=access_denied&state=${WHOLE.state}`);
});

import { expect, test } from 'vitest';
import { browserOf, wayOf } from './session-values.ts';

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0', 'Edge on Windows'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1', 'Safari on iOS'],
  ['curl/8.0', 'curl/8.0'],
  [null, 'Unknown browser'],
])('%s is shown as %s', (userAgent, text) => expect(browserOf({ userAgent })).toBe(text));

test('a session names its key or its provider', () => {
  expect(wayOf({ madeBy: 'KEY', madeWith: 'deploy' })).toBe('API key deploy');
  expect(wayOf({ madeBy: 'OIDC', madeWith: 'keycloak' })).toBe('keycloak');
});

import { expect, test } from 'vitest';
import { explainUnreachable } from './unreachable.ts';

const failed = (code: string, message = `it failed (${code})`) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) });
const PROXY = { HTTPS_PROXY: 'http://me:secret@proxy.test:3128' };

test.each([
  ['ECONNREFUSED', {}, /cannot be reached: nothing listens there\. To get a server, .*`npx podyard`/],
  ['ENOTFOUND', {}, /there is no host named cloud\.test\. Check the address: PODYARD_URL/],
  ['EAI_AGAIN', {}, /there is no host named cloud\.test/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', {}, /its certificate is not trusted .*NODE_EXTRA_CA_CERTS=ca\.pem/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', {}, /its certificate is not trusted/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', {}, /its certificate is not for cloud\.test/],
  ['CERT_HAS_EXPIRED', {}, /its certificate has expired/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', {}, /does not speak TLS\. Try http:/],
  ['ETIMEDOUT', {}, /it does not answer\. A firewall/],
  ['ECONNRESET', {}, /closed without an answer$/],
  ['ESOMETHING', {}, /it failed \(ESOMETHING\)$/],
  ['ETIMEDOUT', PROXY, /HTTPS_PROXY is set, but only used with NODE_USE_ENV_PROXY=1$/],
  [
    'ECONNREFUSED',
    { ...PROXY, NODE_USE_ENV_PROXY: '1' },
    /through the proxy that HTTPS_PROXY names, http:\/\/proxy\.test:3128: /,
  ],
])('%s with %j has its own words', (code, env, words) => {
  const text = explainUnreachable('https://cloud.test', failed(code), env);
  expect(text).toMatch(words);
  expect(text).toMatch(/^https:\/\/cloud\.test cannot be reached/);
  expect(text).not.toContain('secret');
});

test('a TLS port that is called with http:// is suspected', () => {
  expect(explainUnreachable('http://cloud.test:8443', failed('UND_ERR_SOCKET'), {})).toMatch(/use https:\/\/$/);
});

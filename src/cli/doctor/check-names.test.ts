import { expect, test } from 'vitest';
import { checkNames } from './check-names.ts';

const known = new Set(['podyard.example.com', 'podyard-doctor.pods.example.com']);
const resolve = async (name: string) => {
  if (!known.has(name)) throw new Error('ENOTFOUND');
};
const NONE = { publicUrl: null, proxyHost: null, lbHost: null };

test('names that resolve are not mentioned; a wildcard without a record is, as a wildcard', async () => {
  const names = {
    publicUrl: 'https://podyard.example.com',
    proxyHost: 'pods.example.com:8443',
    lbHost: 'lb.example.com',
  };
  expect(await checkNames(names, true, resolve)).toMatchObject([
    { what: 'names', verdict: 'note', found: '*.lb.example.com, for load-balancing endpoints, has no address here' },
  ]);
});

test('on one machine localhost will do; in a cluster both wildcards are missed', async () => {
  expect(await checkNames(NONE, false, resolve)).toEqual([]);
  const found = (await checkNames(NONE, true, resolve)).map((finding) => finding.found);
  expect(found).toEqual([
    'HTTP ports of pods have no name that clients outside the cluster can use',
    'load-balancing endpoints have no name that clients outside the cluster can use',
  ]);
});

import { expect, test } from 'vitest';
import { HubAccess } from '../../domain/access/hub-access.ts';
import { NO_HUB, WorkloadHub } from './workload-hub.ts';

const access = new HubAccess(Buffer.alloc(32, 1));
const apiUrl = 'http://10.0.0.1:4000';
const variables = { HF_ENDPOINT: `${apiUrl}/hub/${access.tokenOf('w1')}` };

test('a workload finds the hub by a default of its image, or by its env where the runtime does not know images', () => {
  const docker = new WorkloadHub({ access, apiUrl, knowsImages: true });
  expect([docker.imageDefaultsOf('w1'), docker.envOf('w1')]).toEqual([variables, {}]);
  const kubernetes = new WorkloadHub({ access, apiUrl, knowsImages: false });
  expect([kubernetes.imageDefaultsOf('w1'), kubernetes.envOf('w1')]).toEqual([{}, variables]);
  expect([NO_HUB.imageDefaultsOf('w1'), NO_HUB.envOf('w1')]).toEqual([{}, {}]);
});

test('a token names one workload, and opens nothing once a character differs', () => {
  const token = access.tokenOf('w1');
  expect(access.idOf(token)).toBe('w1');
  const others = [
    token.replace('w1', 'w2'),
    `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    `${token}A`,
    'w1.',
    '',
  ];
  expect(others.map((other) => access.idOf(other))).toEqual(others.map(() => null));
  expect(new HubAccess(Buffer.alloc(32, 2)).idOf(token)).toBeNull();
});

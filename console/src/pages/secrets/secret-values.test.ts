import { expect, test } from 'vitest';
import { deletionConsequence, newSecretBody, secretReference, secretUpdateBody, usageLabel } from './secret-values.ts';

test('a secret is referenced by its name', () => {
  expect(secretReference('HUB_TOKEN')).toBe('{{ RUNPOD_SECRET_HUB_TOKEN }}');
});

test('an empty description is null', () => {
  expect(newSecretBody({ name: 'A', value: 'v', description: '' })).toEqual({
    name: 'A',
    value: 'v',
    description: null,
  });
});

test('an update with an empty value leaves it out, so that the server keeps the current one', () => {
  expect(secretUpdateBody({ value: '', description: 'for CI' })).toEqual({ description: 'for CI' });
  expect(secretUpdateBody({ value: 'new', description: '' })).toEqual({ value: 'new', description: null });
});

test('deleting a secret names what uses it', () => {
  const usedBy = [
    { kind: 'endpoint', id: 'e1', name: 'greeter' },
    { kind: 'pod', id: 'p1', name: 'box' },
  ] as const;
  expect(usedBy.map(usageLabel)).toEqual(['Endpoint greeter', 'Pod box']);
  expect(deletionConsequence([...usedBy])).toMatch(/^In use by endpoint greeter, pod box\./);
  expect(deletionConsequence([])).toMatch(/^Nothing uses this secret\./);
});

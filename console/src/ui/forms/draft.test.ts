import { expect, test } from 'vitest';
import { dropDraft, readDraft, withoutSecrets, writeDraft } from './draft.ts';

function memory() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
    removeItem: (name: string) => void items.delete(name),
  };
}

test('a draft is kept until it is dropped, and only for the settings it was made from', () => {
  const store = memory();
  writeDraft(store, 'endpoint', { name: '' }, { name: 'echo' });
  expect(readDraft(store, 'endpoint', { name: '' })).toEqual({ name: 'echo' });
  expect(readDraft(store, 'endpoint', { name: 'changed meanwhile' })).toBeNull();
  expect(readDraft(store, 'other', { name: '' })).toBeNull();
  dropDraft(store, 'endpoint');
  expect(readDraft(store, 'endpoint', { name: '' })).toBeNull();
});

test('no secret is stored: neither passwords nor values of variables, only references to secrets', () => {
  const reference = '{{ RUNPOD_SECRET_token }}';
  const values = {
    name: 'echo',
    password: 'hunter2',
    current: 'hunter2',
    url: 'https://hooks.example.com/hunter2',
    env: [
      { key: 'TOKEN', value: 'hunter2' },
      { key: 'SAFE', value: reference },
    ],
    scaling: { type: 'QUEUE_DELAY', value: 4 },
  };
  expect(withoutSecrets(values)).toEqual({
    name: 'echo',
    password: '',
    current: '',
    url: '',
    env: [
      { key: 'TOKEN', value: '' },
      { key: 'SAFE', value: reference },
    ],
    scaling: { type: 'QUEUE_DELAY', value: 4 },
  });
  const store = memory();
  writeDraft(store, 'x', { ...values, name: '' }, values);
  expect([...store.items.values()].join()).not.toContain('hunter2');
});

test('a damaged draft, or a store that is full, is none', () => {
  const store = memory();
  store.items.set('podyard-draft:x', '{');
  expect(readDraft(store, 'x', {})).toBeNull();
  const full = {
    ...store,
    setItem: () => {
      throw new Error('full');
    },
  };
  writeDraft(full, 'x', {}, {});
  expect(readDraft(full, 'x', {})).toBeNull();
});

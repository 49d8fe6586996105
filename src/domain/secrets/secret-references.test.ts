import { expect, test } from 'vitest';
import { replaceReferences, secretNamesIn } from './secret-references.ts';

test('a reference is found and replaced with or without blanks around its name', () => {
  const env = { A: '{{ RUNPOD_SECRET_one }}', B: 'x{{RUNPOD_SECRET_two}}y{{  RUNPOD_SECRET_one\t}}', C: 'none' };
  expect(secretNamesIn(env)).toEqual(['one', 'two']);
  expect(replaceReferences(env, (name) => `<${name}>`)).toEqual({ A: '<one>', B: 'x<two>y<one>', C: 'none' });
});

test('an unclosed reference is none', () => {
  const env = { A: '{{ RUNPOD_SECRET_one }', B: '{{ RUNPOD_SECRET_{{ RUNPOD_SECRET_two }}' };
  expect(secretNamesIn(env)).toEqual(['two']);
});

test('a hostile value costs linear time', () => {
  const blanks = ' '.repeat(1_000_000);
  const values = [`{{ RUNPOD_SECRET_${blanks}`, `{{${blanks}RUNPOD_SECRET_`, '{{ RUNPOD_SECRET_ '.repeat(50_000)];
  const startedAt = performance.now();
  for (const value of values) expect(secretNamesIn({ value })).toEqual([]);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseFiles, matches } from './choose-files.ts';

const FILES = ['config.json', 'model.safetensors', 'onnx/model.onnx', 'original/a/b.pth', 'README.md'].map((path) => ({
  path,
}));
const chosen = (patterns: Parameters<typeof chooseFiles>[1]) => chooseFiles(FILES, patterns).map(({ path }) => path);

test('patterns choose files as those of huggingface_hub', () => {
  expect(chosen({})).toHaveLength(5);
  expect(chosen({ include: [] })).toEqual([]);
  expect(chosen({ include: ['*.json', '*.safetensors'] })).toEqual(['config.json', 'model.safetensors']);
  expect(chosen({ include: ['*model*'] })).toEqual(['model.safetensors', 'onnx/model.onnx']);
  expect(chosen({ include: ['original/'] })).toEqual(['original/a/b.pth']);
  expect(chosen({ exclude: ['*/*'] })).toEqual(['config.json', 'model.safetensors', 'README.md']);
  expect(chosen({ include: ['*'], exclude: ['*'] })).toEqual([]);
  expect(chosen({ include: ['config.jso?', 'CONFIG.json', 'onfig.json'] })).toEqual(['config.json']);
});

test('a pattern matches what a regular expression of it does, and takes little time for any', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '/'), maxLength: 8 });
  const path = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 8 });
  const check = (wanted: string, given: string) => {
    const whole = wanted.endsWith('/') ? `${wanted}*` : wanted;
    const expression = new RegExp(`^${whole.replaceAll('*', '[^]*').replaceAll('?', '[^]')}$`);
    expect(matches(given, wanted)).toBe(expression.test(given));
  };
  fc.assert(fc.property(pattern, path, check), { numRuns: 5_000 });
  const start = performance.now();
  expect(matches('a'.repeat(2_000), `${'*a'.repeat(99)}b`)).toBe(false);
  expect(performance.now() - start).toBeLessThan(5_000);
});

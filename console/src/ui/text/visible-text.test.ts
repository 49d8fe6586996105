import { expect, test } from 'vitest';
import { visibleText } from './visible-text.ts';

test('what reorders or hides text is shown as its code', () => {
  expect(visibleText('invoice\u202efdp.exe')).toBe('invoice\\u202efdp.exe');
  expect(visibleText('a\u2067b\u2069\u200bc\ufeff')).toBe('a\\u2067b\\u2069\\u200bc\\ufeff');
  expect(visibleText('\u0007\u007f\u0085')).toBe('\\u0007\\u007f\\u0085');
});

test('scripts, emoji and their joiners stay as they are', () => {
  for (const text of ['naïve café', 'שלום', 'می‌خواهم', '👩‍👩‍👧‍👦', 'a\tb\nc']) expect(visibleText(text)).toBe(text);
});

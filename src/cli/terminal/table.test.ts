import { describe, expect, test } from 'vitest';
import { closest } from '../../core/text/closest.ts';
import { type Column, formatTable } from './table.ts';
import { cellText, cutToWidth, displayWidth, jsonText, terminalText } from './terminal-text.ts';

interface Row {
  id: string;
  name: string;
  state?: string;
  why?: string | null;
}
const COLUMNS: Column<Row>[] = [
  ['ID', (r) => r.id],
  ['NAME', (r) => r.name],
  ['STATE', (r) => r.state],
  ['WHY', (r) => r.why],
];
const ROW = {
  id: 'abcdefghijklmn',
  name: 'first',
  state: 'failing',
  why: 'CUDA out of memory: tried to allocate 20 GiB',
};
const screen = (columns: number | null, hasColors = false) => ({ columns, hasColors });
const widest = (text: string) => Math.max(...text.split('\n').map(displayWidth));

describe('a table', () => {
  test('is whole where there is no screen, and where the screen is wide enough', () => {
    const whole = formatTable(COLUMNS, [ROW]);
    expect(whole).toBe(
      `ID              NAME   STATE    WHY\n${ROW.id}  first  failing  CUDA out of memory: tried to allocate 20 GiB`,
    );
    expect(formatTable(COLUMNS, [ROW], screen(100))).toBe(whole);
    expect(formatTable(COLUMNS, [ROW], screen(null))).toBe(whole);
  });

  test('is cut to the screen, but never its ids', () => {
    for (const columns of [79, 60, 50]) {
      const text = formatTable(COLUMNS, [ROW, { id: 'b', name: 'x'.repeat(300) }], screen(columns));
      expect(widest(text)).toBeLessThanOrEqual(columns);
      expect(text).toContain(ROW.id);
      expect(text).toContain('…');
    }
  });

  test('is a block of lines for each record where columns have no room', () => {
    expect(formatTable(COLUMNS, [ROW, { id: 'b', name: 'c', why: null }], screen(30))).toBe(
      [
        ...['ID     abcdefghijklmn', 'NAME   first', 'STATE  failing', `WHY    ${ROW.why}`, ''],
        ...['ID     b', 'NAME   c', 'STATE  -', 'WHY    -'],
      ].join('\n'),
    );
  });

  test('of long names is cut to the screen, as columns and as blocks, but not elsewhere', () => {
    const names = ['n'.repeat(190), '模型'.repeat(95), '🚀'.repeat(95), `${'\u202eabc\u061c\u2067'.repeat(20)}`];
    const rows = names.map((name, i) => ({ id: `id${i}`, name, state: 'failing', why: 'short' }));
    for (const columns of [120, 80, 60, 30]) {
      const text = formatTable(COLUMNS, rows, screen(columns));
      expect(widest(text)).toBeLessThanOrEqual(columns);
      expect(text).not.toMatch(/[\u202e\u061c\u2067]/);
      expect(text.match(/…/g)).toHaveLength(names.length);
    }
    expect(formatTable(COLUMNS, rows)).toContain(names[1]);
  });

  test('of long names keeps its reasons: names are cut first', () => {
    const rows = [{ ...ROW, name: 'n'.repeat(190) }];
    const text = formatTable(COLUMNS, rows, screen(102));
    expect(text).toContain(ROW.why);
    expect(text).toMatch(/n{23}… {2}failing/);
    expect(formatTable(COLUMNS, rows, screen(120))).toMatch(/n{41}… {2}failing/); // no more than must be
  });

  test('colors states on a screen with colors only, without moving columns', () => {
    const plain = formatTable(COLUMNS, [ROW], screen(100));
    const colored = formatTable(COLUMNS, [ROW], screen(100, true));
    expect(plain).not.toContain('\u001b');
    expect(colored).toContain('\u001b[31mfailing\u001b[0m');
    expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(plain);
  });

  test('keeps its columns with emoji, wide and combining characters', () => {
    const names = ['🚀🚀', '模型', 'é', 'e\u0301', '👩‍👩‍👧', '❤️', 'plain'];
    const text = formatTable(
      COLUMNS,
      names.map((name) => ({ id: 'i', name, state: '|' })),
    );
    const [, ...lines] = text.split('\n');
    const columns = lines.map((line) => displayWidth(line.slice(0, line.indexOf('|'))));
    expect(new Set(columns).size).toBe(1);
  });

  test('takes sequences and line breaks out of cells', () => {
    const name = 'a\u001b[2J\u001b]0;title\u0007b\nc\td\u009b31m\u202e';
    const text = formatTable(COLUMNS, [{ id: 'i', name }]);
    expect(text.split('\n')).toHaveLength(2);
    expect(text).toContain('a\\x1b[2J\\x1b]0;title\\x07b c d\\x9b31m\\u202e');
  });

  test('of 300,000 records is made', () => {
    const rows = Array.from({ length: 300_000 }, (_, i) => ({ id: String(i), name: 'x' }));
    expect(formatTable(COLUMNS, rows, screen(80)).split('\n')).toHaveLength(300_001);
  });
});

describe('text for a terminal', () => {
  test('keeps colors, tabs and line breaks, and shows every other control character', () => {
    const evil = '\u001b[31mred\u001b[0m\t1\r\n\u001b[2J\u001b]52;c;ZXZpbA==\u0007\u009b5n\rover\u0008\u202e';
    expect(terminalText(evil, true)).toBe(
      '\u001b[31mred\u001b[0m\t1\n\\x1b[2J\\x1b]52;c;ZXZpbA==\\x07\\x9b5n\\x0dover\\x08\\u202e',
    );
    expect(terminalText('\u001b[31mred\u001b[0m', false)).toBe('red');
  });

  test('ends a color that is left on', () => {
    expect(terminalText('\u001b[1;31mred', true)).toBe('\u001b[1;31mred\u001b[0m');
  });

  test('in JSON is escaped, and the value stays the same', () => {
    const value = { name: 'a\u009b31m\u202e\u2028\u007f' };
    const text = jsonText(value);
    expect(text).toMatch(/^[\x20-\x7e\n]*$/);
    expect(JSON.parse(text)).toEqual(value);
    expect(jsonText(undefined)).toBe('null');
  });

  test('is cut between characters', () => {
    expect(cutToWidth('🚀🚀🚀', 5)).toBe('🚀🚀…');
    expect(cutToWidth('🚀🚀🚀', 4)).toBe('🚀…');
    expect(cutToWidth('abc', 3)).toBe('abc');
    expect(cellText('\ud800')).toBe('\ufffd');
  });
});

test('the nearest word is found, and none that is far', () => {
  const known = ['endpoints', 'pods', 'logs', 'update'];
  expect(closest('endpionts', known)).toBe('endpoints');
  expect(closest('PODS', known)).toBe('pods');
  expect(closest('updaet', known)).toBe('update');
  expect(closest('xyz', known)).toBeUndefined();
  expect(closest('x'.repeat(100_000), known)).toBeUndefined();
  expect(closest('', known)).toBeUndefined();
});

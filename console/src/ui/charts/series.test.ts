import { expect, test } from 'vitest';
import { DARK_BACKGROUND } from '../../theme.ts';
import { CHART_COLORS, CHART_FRAME, formatIn, hasRoom, textsAt } from './series.ts';

const BACKGROUNDS = { light: '#ffffff', dark: DARK_BACKGROUND };

/** Relative luminance and contrast as WCAG 2 defines them. */
function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light! + 0.05) / (dark! + 0.05);
}

test('the contrast of black and white is 21', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
});

test.each(['light', 'dark'] as const)('in %s, text of charts has 4.5:1 and every series 3:1', (scheme) => {
  expect(contrast(CHART_FRAME[scheme].text, BACKGROUNDS[scheme])).toBeGreaterThan(4.5);
  for (const [name, colors] of Object.entries(CHART_COLORS)) {
    expect([name, contrast(colors[scheme], BACKGROUNDS[scheme]) > 3]).toEqual([name, true]);
  }
});

test('a tooltip has the marks of its time, and says how many more there are', () => {
  const marks = ['a', 'b', 'c'].map((text) => ({ at: 1, text }));
  expect(textsAt([...marks, { at: 2, text: 'd' }], 1)).toEqual(['a', 'b', 'c']);
  expect(textsAt(marks, 1, 2)).toEqual(['a', 'b', 'and 1 more']);
  expect(textsAt(marks, 3)).toEqual([]);
});

test('of lines that are near each other, the last one has its label', () => {
  const line = { label: 'v1', isBad: false };
  const marks = [
    { at: 90, text: '', line },
    { at: 85, text: '', line },
    { at: 95, text: '' },
    { at: 20, text: '', line },
  ];
  expect(marks.filter((mark) => mark.line && hasRoom(marks, mark.at, 100, 100)).map(({ at }) => at)).toEqual([90, 20]);
});

test('the label of a late line stands at its left, and takes the room of one before it', () => {
  const line = { label: 'v1', isBad: false };
  const marks = [75, 80, 95].map((at) => ({ at, text: '', line }));
  expect(marks.map(({ at }) => hasRoom(marks, at, 100, 100))).toEqual([false, false, true]);
  expect(hasRoom(marks.slice(1), 70, 100, 100)).toBe(true);
});

test('values have their unit', () => {
  expect([formatIn('ms', 1_204), formatIn('s', 90), formatIn('usd', 0.004), formatIn(undefined, 1_204)]).toEqual([
    '1.2 s',
    '1 min 30 s',
    '<$0.01',
    '1,204',
  ]);
});

import { expect, test } from 'vitest';
import { type OutputLine, StepOutput } from './step-output.ts';

const AT = new Date(0);

function collect() {
  const lines: OutputLine[] = [];
  return { lines, output: new StepOutput((line) => lines.push(line)) };
}

test('a character in two pieces is one, and a NUL is none', () => {
  const { lines, output } = collect();
  const bytes = Buffer.from('ä\0b\n');
  output.write('stdout', bytes.subarray(0, 1), AT);
  output.write('stdout', bytes.subarray(1), AT);
  expect(lines).toEqual([{ stream: 'stdout', text: 'äb', at: AT }]);
});

test('of a progress bar the last state is a line', () => {
  const { lines, output } = collect();
  output.write('stderr', Buffer.from('10 %\r50 %\r100 %\r\n'), AT);
  expect(lines.map(({ text }) => text)).toEqual(['100 %']);
});

test('a long line is cut, and the next one is whole', () => {
  const { lines, output } = collect();
  output.write('stdout', Buffer.from(`${'x'.repeat(100_000)}\nnext\n`), AT);
  expect(lines[0]!.text).toMatch(/^x{8192} … \(cut\)$/);
  expect(lines[1]!.text).toBe('next');
});

test('after a mebibyte one line says that the rest is left out, and the last lines are known yet', () => {
  const { lines, output } = collect();
  for (let i = 0; i < 20_000; i++) output.write('stdout', Buffer.from(`line ${i} ${'x'.repeat(90)}\n`), AT);
  output.write('stdout', Buffer.from('the end\n'), AT);
  expect(lines.filter(({ stream }) => stream === 'system')).toEqual([lines.at(-1)]);
  expect(lines.at(-1)!.text).toMatch(/left out/);
  expect(lines.length).toBeLessThan(12_000);
  expect(output.lastLines.at(-1)).toBe('the end');
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Piece, RequestSplitter } from './split-requests.ts';

/** Splits a text that arrives in chunks of so many bytes. */
function split(text: string, { chunk = 7, isLines = false, limitBytes = 1_000 } = {}): (string | null)[] {
  const splitter = new RequestSplitter({ limitBytes, isLines });
  const bytes = Buffer.from(text);
  const pieces: Piece[] = [];
  for (let at = 0; at < bytes.length; at += chunk) pieces.push(...splitter.push(bytes.subarray(at, at + chunk)));
  pieces.push(...splitter.end());
  return pieces.map((piece) => (Buffer.isBuffer(piece) ? piece.toString() : piece));
}

describe('forms', () => {
  test.each<[string, string, (string | null)[]]>([
    ['JSON lines', '{"input":1}\n{"input":2}\n', ['{"input":1}', '{"input":2}']],
    ['without a last line break', '{"input":1}\n{"input":2}', ['{"input":1}', '{"input":2}']],
    ['blank lines count', '{"input":1}\n\n \r\n{"input":2}', ['{"input":1}', null, null, '{"input":2}']],
    ['a broken line', '{"input": "a\n{"input":2}\n', ['{"input": "a', '{"input":2}']],
    ['an array', ' [{"input":1}, {"input":[2,{"a":"]"}]}]', ['{"input":1}', ' {"input":[2,{"a":"]"}]}']],
    ['an empty array', '[ ]', []],
    ['nothing between commas', '[1,,2]', ['1', '', '2']],
    ['an object with requests', '{"requests":[{"input":1},{"input":"\\"]"}]}', ['{"input":1}', '{"input":"\\"]"}']],
    ['settings before them', '{"name":"a, {","x":{"y":[1]},"requests":[{"input":1}],"z":1}', ['{"input":1}']],
    ['one request', '{"input":{"requests":[1]}}', ['{"input":{"requests":[1]}}']],
    ['a byte order mark', '\ufeff[1]', ['1']],
    ['nothing', '', []],
    ['blanks', ' \n ', []],
  ])('%s', (_name, text, pieces) => {
    for (const chunk of [1, 2, 5, 1_000]) {
      const found = split(text, { chunk });
      expect(text.trim() === '' ? found.filter((piece) => piece !== null) : found).toEqual(pieces);
    }
  });

  test('JSON lines by their type are split by line, whatever they begin with', () => {
    expect(split('[1]\n{"requests":[2]}\n', { isLines: true })).toEqual(['[1]', '{"requests":[2]}']);
  });

  test('a request over the limit is dropped alone, and its memory with it', () => {
    const long = 'x'.repeat(50);
    for (const chunk of [1, 10, 1_000]) {
      expect(split(`1\n${long}\n2\n${long}`, { limitBytes: 20, chunk })).toEqual(['1', 'tooLong', '2', 'tooLong']);
      expect(split(`[1,"${long}",2]`, { limitBytes: 20, chunk })).toEqual(['1', 'tooLong', '2']);
    }
    const splitter = new RequestSplitter({ limitBytes: 20, isLines: true });
    splitter.push(Buffer.from(long));
    expect([splitter.pendingBytes, splitter.droppedBytes]).toEqual([0, 50]);
    splitter.push(Buffer.from(`${long}\n2`));
    expect([splitter.pendingBytes, splitter.droppedBytes]).toEqual([1, 0]);
  });

  test('an array that is cut says where', () => {
    expect(() => split('[1,{"input"')).toThrow('it ends in element 2');
    expect(() => split('{"requests":[1,2')).toThrow('it ends in element 2');
  });
});

test('any requests come out as they went in, in any form and any chunks', () => {
  const requests = fc.array(fc.record({ input: fc.jsonValue() }), { maxLength: 20 });
  fc.assert(
    fc.property(
      requests,
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom('lines', 'array', 'object'),
      (all, chunk, form) => {
        const texts = all.map((request) => JSON.stringify(request));
        const text = {
          lines: `${texts.join('\n')}\n`,
          array: `[${texts.join(' ,\n')}]`,
          object: `{"requests": [${texts}]}`,
        }[form];
        const found = split(text, { chunk, limitBytes: 100_000 }).filter((piece) => piece !== null);
        expect(found.map((piece) => JSON.parse(piece))).toEqual(
          all.map((request) => JSON.parse(JSON.stringify(request))),
        );
      },
    ),
  );
});

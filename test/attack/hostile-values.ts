import { deflateSync, gzipSync } from 'node:zlib';
import type { Random } from '../chaos/random.ts';

/** Texts that have broken programs before. */
export const TEXTS = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    '\udfff\ud800',
    '\u202e',
    '👩‍👩‍👧‍👦',
    'İı',
    '\ufeff',
    '\u0085\u2028',
    'ﷺ'.repeat(40),
  ],
  ...[
    "'; drop table users; --",
    '{{ RUNPOD_SECRET_x }}',
    '$1',
    '%s%n',
    '../../../etc/passwd',
    '__proto__',
    'constructor',
  ],
  ...[
    'toString',
    '1e999',
    'x'.repeat(5_000),
    '#{7*7}',
    '<script>',
    'null',
    'undefined',
    'NaN',
    '-0',
    '\r\nX-Injected: 1',
  ],
];

export const NUMBERS = [
  ...[-1, 0, 0.5, 1.5, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 2 ** 63, 1e21, 1.7e308, 5e-324, -(2 ** 31), -(2 ** 63)],
];

/** Number literals that JSON allows and most types do not. */
const LITERALS = ['1e400', '-1e400', '123456789012345678901234567890', '-0', '0.1e-400', '1E+5', '9'.repeat(5_000)];

const BOMB = gzipSync(Buffer.alloc(20 * 2 ** 20));
const ENCODED = [BOMB, gzipSync('{"input":1}'), deflateSync('{"input":1}'), BOMB.subarray(0, 500)];

/** Cheap to send, expensive to take: made once. */
const HEAVY = [
  `{"input":${'['.repeat(9_500_000)}`,
  `{"input":{${Array.from({ length: 400_000 }, (_, i) => `"${i}":0`).join(',')}}}`,
  `{"input":[${'{},'.repeat(1_000_000)}0]}`,
  `{"input":"${'x'.repeat(9 * 2 ** 20)}"}`,
  `{"input":"${'\\u0041'.repeat(1_500_000)}"}`,
  `{"input":"${'é'.repeat(3_000_000)}"}`,
  `{"input":${'9'.repeat(8_000_000)}}`,
  `{"env":{"a":"{{ RUNPOD_SECRET_${' '.repeat(95_000)}"}}`,
  `{"query":"{ ${'a'.repeat(9_000_000)} }"}`,
].map((text) => Buffer.from(text));

/** One in so many odd bodies is a heavy one. */
const HEAVY_ONE_IN = 60;

/** A body that no operation expects. */
export function oddBody(random: Random): Buffer {
  if (random.between(1, HEAVY_ONE_IN) === 1) return random.pick(HEAVY);
  const kinds: (() => string | Buffer)[] = [
    () =>
      random.pick([
        '',
        ' ',
        '{',
        '{}{}',
        '{"input":',
        '{"input":1,}',
        "{'input':1}",
        'null',
        '[]',
        '"text"',
        '0',
        '\ufeff{}',
      ]),
    () => `{"input":${random.pick(LITERALS)}}`,
    () => '{"input":1,"input":2,"policy":{"ttl":10000,"ttl":-1}}',
    () => '{"__proto__":{"input":1},"constructor":{"prototype":{}},"input":1}',
    () => '{"\\u005f_proto__":{},"\\u0000":1,"input":"\\ud800"}',
    () => Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    () => Buffer.from([0x7b, 0x22, 0x69, 0x6e, 0x70, 0x75, 0x74, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d]),
    () => Buffer.from('{"input":1}', 'utf16le'),
    () => `{"input":${'['.repeat(random.between(1, 3_000))}`,
    () => `${'{"input":'.repeat(random.between(100, 200))}1${'}'.repeat(150)}`,
    () => random.pick(ENCODED),
    () => Buffer.from(Array.from({ length: random.between(1, 200) }, () => random.between(0, 255))),
    () => `{"input":{"echo":${JSON.stringify(random.pick(TEXTS))}}}`,
  ];
  return Buffer.from(random.pick(kinds)());
}

/** Replaces, adds, removes or repeats members somewhere in a JSON value. */
export function mutate(random: Random, value: unknown): unknown {
  const copy = structuredClone(value);
  const holders = objectsIn(copy);
  for (let i = random.between(1, 3); i > 0 && holders.length > 0; i--) {
    const holder = random.pick(holders);
    const names = Object.keys(holder);
    const name = names.length > 0 && random.next() < 0.8 ? random.pick(names) : random.pick(TEXTS);
    if (random.next() < 0.15) delete holder[name];
    else
      Object.defineProperty(holder, name, {
        value: oddValue(random),
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return copy;
}

function oddValue(random: Random): unknown {
  const kind = random.between(1, 4);
  if (kind === 1) return random.pick(NUMBERS);
  if (kind === 2)
    return random.pick([null, true, [], {}, [[]], [null], { a: 1 }, Array.from({ length: 2_000 }, () => 'a')]);
  return random.pick(TEXTS);
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(objectsIn)];
}

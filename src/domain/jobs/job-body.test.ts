import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Failure } from '../../core/errors.ts';
import { parseJobBody, parseJson, sliceMembers } from './job-body.ts';
import { WebhookPolicy } from './webhook-policy.ts';

const webhooks = new WebhookPolicy({ allowPrivate: false, allowed: [] });
const parse = (text: string | Buffer) => parseJobBody(parseJson(Buffer.from(text)), webhooks);

function refusal(text: string | Buffer): Failure {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof Failure) return error;
  }
  throw new Error('it was not refused');
}

test('a body with only an input gets the defaults: a ttl of a day, the endpoint’s timeout, normal priority', () => {
  expect(parse('{"input":{"a":1}}')).toEqual({
    input: '{"a":1}',
    extras: null,
    webhook: null,
    executionTimeoutMs: null,
    ttlMs: 86_400_000,
    hasOwnTtl: false,
    isLowPriority: false,
  });
});

test('the policy, webhook and s3Config are parsed; unknown members are dropped', () => {
  const body = `{ "other": 1, "webhook": "https://example.com/hook", "s3Config": {"accessId": "x" },
    "policy": {"executionTimeout": 5000, "ttl": 10000, "lowPriority": true, "other": 2}, "input": 7 }`;
  expect(parse(body)).toEqual({
    input: '7',
    extras: '"s3Config":{"accessId": "x" }',
    webhook: 'https://example.com/hook',
    executionTimeoutMs: 5000,
    ttlMs: 10_000,
    hasOwnTtl: true,
    isLowPriority: true,
  });
});

test.each(['{}', '[]', 'null', '"text"', '0', 'false'])('an input may be any JSON value, even %s', (value) => {
  expect(parse(`{"input":${value}}`).input).toBe(value);
});

test.each([
  ['large numbers', '{"n":123456789012345678901234567890.10}'],
  ['escapes', '{"t":"\\u00e9\\u0000\\/\\"}"}'],
  ['the order of keys and repeated ones', '{"b":1,"a":2,"b":3}'],
  ['blanks and line ends inside', '{ "a" :\r\n\t[ 1 , 2 ] }'],
])('an input is kept as the bytes that came: %s', (_, input) => {
  expect(parse(` {"x":1,\n "input" : ${input} } `).input).toBe(input);
});

test('null for webhook and s3Config means none', () => {
  expect(parse('{"input":1,"webhook":null,"s3Config":null}')).toMatchObject({ webhook: null, extras: null });
});

test.each([
  ['no input', '{"policy":{}}', ['/input: is required']],
  ['a policy that is no object', '{"input":1,"policy":[]}', ['/policy: must be object']],
  ['a webhook that is no URL', '{"input":1,"webhook":"nowhere"}', ['/webhook: must be an http or https URL']],
  ['a webhook of another scheme', '{"input":1,"webhook":"ftp://x/"}', ['/webhook: must be an http or https URL']],
  ['a webhook with NUL', '{"input":1,"webhook":"http://x/\\u0000"}', ['/webhook: must be an http or https URL']],
  ['an s3Config that is text', '{"input":1,"s3Config":"x"}', ['/s3Config: must be object']],
  [
    'a lowPriority that is a number',
    '{"input":1,"policy":{"lowPriority":1}}',
    ['/policy/lowPriority: must be boolean'],
  ],
])('%s is refused with its place', (_, body, errors) => {
  const failure = refusal(body);
  expect(failure.kind).toBe('badRequest');
  expect(failure.errors).toEqual(errors);
});

test.each([4999, 604_800_001, -1, 1.5, '"5000"', null])('an executionTimeout of %s is refused', (value) => {
  expect(refusal(`{"input":1,"policy":{"executionTimeout":${value}}}`).errors).toEqual([
    '/policy/executionTimeout: must be a whole number of milliseconds from 5000 to 604800000',
  ]);
});

test.each([9999, 604_800_001, -1, true])('a ttl of %s is refused', (value) => {
  expect(refusal(`{"input":1,"policy":{"ttl":${value}}}`).errors).toEqual([
    '/policy/ttl: must be a whole number of milliseconds from 10000 to 604800000',
  ]);
});

test('all failures are listed at once', () => {
  expect(refusal('{"policy":{"ttl":0,"executionTimeout":0}}').errors).toHaveLength(3);
});

test.each(['', '{', 'input', '{"input":1', '[{"input":1}]', '"input"', 'null', '17'])('%j is refused', (text) => {
  expect(refusal(text).kind).toBe('badRequest');
});

test('bytes that are not UTF-8 are refused, not repaired', () => {
  expect(refusal(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])).message).toBe('the request body is not valid UTF-8');
});

/** JSON texts as they may come: odd blanks, escaped or plain strings, numbers that no double holds, repeated keys. */
const blank = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 });
const string = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'a'), maxLength: 8 }),
  )
  .chain((text) =>
    fc.boolean().map((isEscaped) => {
      const json = JSON.stringify(text);
      return isEscaped ? json.replace(/[a-z{}[\],:]/g, (c, at: number) => escapeOutsideEscapes(json, at, c)) : json;
    }),
  );
const number = fc.oneof(
  fc.integer().map(String),
  fc.bigInt().map(String),
  fc.constantFrom('-0', '1e400', '-1.50E-7', '0.10', '123456789012345678901234567890.123'),
);
const { json } = fc.letrec<{ json: string; object: string; array: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    number,
    string,
    fc.constantFrom('true', 'false', 'null'),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .array(
      fc.tuple(blank, tie('json'), blank).map((parts) => parts.join('')),
      { maxLength: 4 },
    )
    .map((items) => `[${items.join(',')}]`),
  object: fc.array(member(string, tie('json')), { maxLength: 4 }).map((members) => `{${members.join(',')}}`),
}));

function member(name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(blank, name, blank, blank, value, blank)
    .map(([a, key, b, c, item, d]) => `${a}${key}${b}:${c}${item}${d}`);
}

/** `\u0061` for a plain character; a letter that belongs to an escape stays. */
function escapeOutsideEscapes(text: string, at: number, character: string): string {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  const isInUnicodeEscape = /\\u[0-9a-f]{0,3}$/.test(text.slice(Math.max(0, at - 5), at));
  if (backslashes % 2 === 1 || isInUnicodeEscape) return character;
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

test('slices of members are exactly the source of what JSON.parse returns, the last one of a repeated key', () => {
  const names = ['input', 's3Config'];
  const key = fc.oneof(fc.constantFrom('"input"', '"s3Config"', '"\\u0069nput"', '"inpu"', '"__proto__"'), string);
  const document = fc
    .tuple(blank, fc.array(member(key, json), { maxLength: 6 }), blank, blank)
    .map(([before, members, inside, after]) => `${before}{${members.join(',')}${inside}}${after}`);
  fc.assert(
    fc.property(document, (text) => {
      const whole = JSON.parse(text) as Record<string, unknown>;
      const found = sliceMembers(text, names);
      expect([...found.keys()].sort()).toEqual(names.filter((name) => Object.hasOwn(whole, name)));
      for (const [name, slice] of found) {
        expect(JSON.parse(slice)).toEqual(whole[name]);
        expect(slice).toBe(slice.trim());
        expect(text).toContain(slice);
      }
    }),
    { numRuns: 2000 },
  );
});

test('a deeply nested value is sliced without running out of stack', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  expect(sliceMembers(`{"input":${deep}}`, ['input']).get('input')).toBe(deep);
});

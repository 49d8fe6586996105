import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JOB_MEMBERS, parseJobBody } from './job-body.ts';
import { parseInTurns } from './parse-in-turns.ts';
import { WebhookPolicy } from './webhook-policy.ts';

const webhooks = new WebhookPolicy({ allowPrivate: false, allowed: [] });
/** Makes a body large enough to be scanned, without a change of its meaning. */
const PADDING = ' '.repeat(64 * 1024);

async function parse(text: string) {
  return parseJobBody(await parseInTurns(Buffer.from(text), 'user', JOB_MEMBERS), webhooks);
}

test('a large job body is read as a small one is', async () => {
  const member = fc.constantFrom(...JOB_MEMBERS, 'other', 'in\\u0070ut');
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.record({ executionTimeout: fc.constantFrom(6_000, 1), ttl: fc.constantFrom(20_000, 'x') }, { requiredKeys: [] }),
    fc.constantFrom('https://example.com/hook', 'http://127.0.0.1/', null),
  );
  const bodies = fc.array(fc.tuple(member, value), { maxLength: 6 }).map((members) => {
    return `{${members.map(([name, one]) => `"${name}": ${JSON.stringify(one)}`).join(', ')}}`;
  });
  await fc.assert(
    fc.asyncProperty(fc.oneof(bodies, fc.constantFrom('[]', '1', '"a"', '{"input":')), async (text) => {
      const small = await parse(text).catch((error: Error) => error.message);
      const large = await parse(PADDING + text).catch((error: Error) => error.message);
      if (typeof small === 'string' && small.includes('not valid JSON')) expect(large).toContain('is not valid JSON: ');
      else expect(large).toEqual(small);
    }),
    { numRuns: 200 },
  );
});

describe('a large body is refused', () => {
  test.each([
    ['{"input":"\\x"}', 'the request body is not valid JSON: byte 65547 is unexpected'],
    ['{"input":1', 'the request body is not valid JSON: it ends too early'],
    [`{"input":${'['.repeat(129)}`, 'the request body cannot be taken: it is nested more than 128 levels deep'],
    [
      `{"input":1,"policy":{${Array.from({ length: 3_000 }, (_, i) => `"m${i}":0`).join()}}}`,
      'The job is not valid: /policy: must have at most 16384 bytes.',
    ],
  ])('%#', async (text, detail) => {
    await expect(parse(PADDING + text)).rejects.toThrow(detail);
  });

  test('if it is not UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from(`${PADDING}{"input":"`), Buffer.of(0xff), Buffer.from('"}')]);
    await expect(parseInTurns(bytes, 'user', JOB_MEMBERS)).rejects.toThrow('the request body is not valid UTF-8');
  });
});

test('a large input is a part of the body that was received', async () => {
  const input = JSON.stringify('ü"'.repeat(40_000));
  const bytes = Buffer.from(`{"policy":{}, "input": ${input} }`);
  const body = parseJobBody(await parseInTurns(bytes, 'user', JOB_MEMBERS), webhooks);
  expect(Buffer.isBuffer(body.input) && body.input.buffer === bytes.buffer).toBe(true);
  expect(String(body.input)).toBe(input);
});

test('a member of a large body is replaced where it counts', async () => {
  const parsed = await parseInTurns(Buffer.from(`${PADDING}{"model":"a","b":[1],"model":"é"} `), 'user', ['model']);
  expect(parsed.replace('model', '"c"').trimStart()).toBe('{"model":"a","b":[1],"model":"c"} ');
});

import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Endpoint } from '../settings/endpoint-values.ts';
import { httpSamples, jobSamples, type Sample } from './samples.ts';

const BASE_URL = 'https://cloud.example.com';
const codeOf = (samples: Sample[], language: string) => samples.find((sample) => sample.language === language)!.code;
const endpoint = (requestUrls?: unknown) => ({ id: 'e1', requestUrls }) as Endpoint;

/** The arguments that a shell passes to curl. */
function curlArguments(code: string): string[] {
  const printed = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${code}`], {
    encoding: 'utf8',
    env: { PODYARD_KEY: 'pyk_test' },
  });
  return printed.split('\0').slice(0, -1);
}

test('curl submits the input unchanged, whatever quotes it contains', () => {
  const input = { text: `it's "quoted" $HOME \`x\`` };
  const args = curlArguments(codeOf(jobSamples(BASE_URL, 'e1', input), 'curl'));
  expect(args.slice(0, 3)).toEqual(['-X', 'POST', 'https://cloud.example.com/v2/e1/runsync']);
  expect(args).toContain('Authorization: Bearer pyk_test');
  expect(JSON.parse(args.at(-1)!)).toEqual({ input });
});

test('the JavaScript client gets the base URL, the endpoint and the indented input', () => {
  const code = codeOf(jobSamples(BASE_URL, 'e1', { echo: 'hello' }), 'JavaScript');
  expect(code).toContain(`{ baseUrl: 'https://cloud.example.com/v2' }`);
  expect(code).toContain(`client.endpoint('e1')`);
  expect(code).toContain('  input: {\n    "echo": "hello"\n  },');
});

test('the OpenAI client gets the base URL for all models, and the endpoint as its model', () => {
  const code = codeOf(jobSamples(BASE_URL, 'e1', {}), 'OpenAI');
  expect(code).toContain(`baseURL: 'https://cloud.example.com/openai/v1'`);
  expect(code).toContain(`model: 'e1'`);
});

test('Python gets Python literals', () => {
  const input = { a: null, b: [true, false, 1.5], c: { 'd"': 'e' } };
  expect(codeOf(jobSamples(BASE_URL, 'e1', input), 'Python')).toContain(
    '{"input": {"a": None, "b": [True, False, 1.5], "c": {"d\\"": "e"}}}',
  );
});

test("a request uses the endpoint's own host name if it has one, else its path", () => {
  const call = { method: 'GET', path: '/ping', headers: [], body: '' };
  const named = httpSamples(BASE_URL, endpoint({ base: 'https://e1.cloud.example.com' }), call);
  expect(codeOf(named, 'curl')).toContain('curl -X GET https://e1.cloud.example.com/ping ');
  for (const urls of [undefined, { base: '' }, { run: 'https://other' }]) {
    const { code } = httpSamples(BASE_URL, endpoint(urls), call)[0]!;
    expect(code).toContain('curl -X GET https://cloud.example.com/v2/e1/lb/ping ');
  }
});

test('every language sends the body and the headers', () => {
  const samples = httpSamples(BASE_URL, endpoint(), {
    ...{ method: 'POST', path: '/', body: `{"a":"it's"}`, headers: [{ name: 'X-Seed', value: `it's "1"` }] },
  });
  expect(curlArguments(codeOf(samples, 'curl')).at(-1)).toBe(`{"a":"it's"}`);
  expect(curlArguments(codeOf(samples, 'curl'))).toContain(`x-seed: it's "1"`);
  expect(codeOf(samples, 'JavaScript')).toContain(`body: "{\\"a\\":\\"it's\\"}",`);
  for (const language of ['JavaScript', 'Python']) expect(codeOf(samples, language)).toContain(`"it's \\"1\\""`);
  expect(codeOf(samples, 'Python')).toContain(`data="{\\"a\\":\\"it's\\"}".encode()`);
});

test('a call without a body mentions none', () => {
  for (const { code } of httpSamples(BASE_URL, endpoint(), {
    method: 'GET',
    path: '/',
    headers: [],
    body: '{"a":1}',
  })) {
    expect(code).not.toMatch(/"a"|content-type/i);
  }
});

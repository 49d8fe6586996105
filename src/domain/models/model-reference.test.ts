import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_REFERENCE_LENGTH, parseModelReference } from './model-reference.ts';
import { referenceOf, sourceOf } from './model-text.ts';

const refusal = (text: string) => {
  try {
    return parseModelReference(text);
  } catch (error) {
    return (error as Error).message;
  }
};
const SHA = 'ab'.repeat(32);

test.each([
  ['hf:Qwen/Qwen3-8B', 'Qwen/Qwen3-8B', 'main'],
  ['Qwen/Qwen3-8B', 'Qwen/Qwen3-8B', 'main'],
  ['org/model:v1.0', 'org/model', 'v1.0'],
  ['hf:org/model@refs/pr/1', 'org/model', 'refs/pr/1'],
  ['https://huggingface.co/org/model', 'org/model', 'main'],
  ['https://huggingface.co/org/model/', 'org/model', 'main'],
  ['https://huggingface.co/org/model:main', 'org/model', 'main'],
  ['https://HF.co/org/model@dev', 'org/model', 'dev'],
  ['https://huggingface.co/org/model/tree/feature/x', 'org/model', 'feature/x'],
  ['https://huggingface.co/org/model?library=vllm', 'org/model', 'main'],
  [`org/model@${'0a'.repeat(20)}`, 'org/model', '0a'.repeat(20)],
])('%s is a model of the hub', (text, name, revision) => {
  expect(parseModelReference(text)).toEqual({ source: 'HUB', name, revision });
});

test('a file by URL has a digest', () => {
  expect(parseModelReference(`https://example.com/a/m.gguf#sha256=${SHA.toUpperCase()}`)).toEqual({
    ...{ source: 'HTTPS', url: 'https://example.com/a/m.gguf', sha256: SHA },
  });
});

describe('is refused', () => {
  const example = 'write hf:OWNER/NAME, such as hf:Qwen/Qwen3-8B, or https://…';
  test.each([
    ...[
      'm',
      '',
      'hf:',
      'org/',
      '/model',
      'org/model/more',
      'org/../x',
      '../model',
      'org/.x',
      'org/a--b',
      'org/a.git',
    ].map((text) => [text, `'${text}' is not a model: ${example}`]),
    ['org/mo\ndel', `'org/mo del' is not a model: ${example}`],
    [
      'https://huggingface.co/datasets/org/data',
      `'https://huggingface.co/datasets/org/data' is not a model: ${example}`,
    ],
    ['org/model@', "'org/model@': '' is not a revision: write a branch, a tag or a commit"],
    ['org/model@../x', "'org/model@../x': '../x' is not a revision: write a branch, a tag or a commit"],
    ['org/model@a b', "'org/model@a b': 'a b' is not a revision: write a branch, a tag or a commit"],
    ['s3://bucket/model', 'models in S3 cannot be fetched yet: use hf: or https://'],
    ['oci:registry/model', 'models in registries cannot be fetched yet: use hf: or https://'],
    ['http://example.com/m', 'models are fetched with TLS alone: write https://'],
    ['https://', "'https://' is not a URL"],
    [
      'https://example.com/m',
      "'https://example.com/m' needs the SHA-256 of the file: add #sha256= and its 64 hexadecimal digits",
    ],
    [
      `https://example.com/m?key=secret#sha256=${SHA}`,
      "'https://example.com/m': must have no query: models are named by their URL for good",
    ],
    [`https://me:secret@example.com/m#sha256=${SHA}`, "'https://example.com/m': must have no user and no password"],
    [`https://example.com/#sha256=${SHA}`, "'https://example.com/': must end with the name of a file"],
    ['x'.repeat(MAX_REFERENCE_LENGTH + 1), 'must not be longer than 1000 characters'],
  ])('%j', (text, problem) => {
    expect(refusal(text!)).toBe(problem);
  });
});

const pieces = [
  'hf:',
  'https://',
  'huggingface.co/',
  'org',
  '/',
  '..',
  '.',
  '-',
  '@',
  ':',
  '#sha256=',
  SHA,
  '\0',
  '\n',
  '%2e',
  '?',
];
const anyText = fc.oneof(
  fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => parts.join('')),
  fc.string(),
);

test('any text is a model or a refusal in one line, and a model is safe in a path', () => {
  const check = (given: string) => {
    const result = refusal(given);
    if (typeof result === 'string') expect(result).toMatch(/^[^\p{Cc}]+$/u);
    else if (result.source === 'HUB') {
      expect(result.name.split('/')).toHaveLength(2);
      expect(`${result.name}@${result.revision}`).not.toMatch(/\.\.|[\p{Cc}%?#\\]/u);
    } else expect(new URL(result.url).href).toBe(result.url);
  };
  fc.assert(fc.property(anyText, check), { numRuns: 10_000 });
});

test('what a model is called in answers stands for the same model', () => {
  const word = fc.stringMatching(/^[a-zA-Z0-9]{1,9}([._-][a-zA-Z0-9]{1,9})?$/);
  const revision = fc.oneof(fc.constantFrom('main', 'v1.0', 'refs/pr/3'), fc.stringMatching(/^[0-9a-f]{40}$/));
  const check = (owner: string, repository: string, asked: string) => {
    const name = `${owner}/${repository}`;
    const use = { source: 'HUB', name, revision: asked, commit: 'c' } as const;
    for (const shown of [sourceOf(use), referenceOf(use)]) {
      expect(parseModelReference(shown)).toEqual({ source: 'HUB', name, revision: asked });
    }
  };
  fc.assert(fc.property(word, word, revision, check), { numRuns: 1_000 });
  const file = { source: 'HTTPS', name: 'https://example.com/m', revision: null, commit: `sha256:${SHA}` } as const;
  expect(parseModelReference(sourceOf(file))).toEqual({ source: 'HTTPS', url: file.name, sha256: SHA });
});

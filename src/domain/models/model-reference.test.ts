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

test.each([
  ['s3://models/llama/a b.gguf', null],
  ['s3://models/llama/a.gguf', 's3://models/llama/a.gguf'],
  ['S3://models/a.gguf?region=us-east-1', 's3://models/a.gguf'],
  ['s3://models/a.gguf?region=eu-west-1&endpoint=https://minio.example.com:9000/', null],
  [
    's3://models/a.gguf?endpoint=http://minio:9000/s3&region=EU-RO-1',
    's3://models/a.gguf?endpoint=http://minio:9000/s3&region=EU-RO-1',
  ],
])('%s is an object of a bucket', (text, name) => {
  if (text.includes(' ')) expect(refusal(`${text}#sha256=${SHA}`)).toContain('is not a URL');
  else {
    const canonical = name ?? 's3://models/a.gguf?endpoint=https://minio.example.com:9000&region=eu-west-1';
    expect(parseModelReference(`${text}#sha256=${SHA}`)).toEqual({ source: 'S3', name: canonical, sha256: SHA });
  }
});

test.each([
  ['oci://ghcr.io/org/model', { registry: 'ghcr.io', repository: 'org/model', tag: 'latest', digest: null }],
  ['oci:localhost:5000/m:v1', { registry: 'localhost:5000', repository: 'm', tag: 'v1', digest: null }],
  ['oci://docker.io/ai/qwen3:8B', { registry: 'docker.io', repository: 'ai/qwen3', tag: '8B', digest: null }],
  [`oci://r.io/m:v1@sha256:${SHA}`, { registry: 'r.io', repository: 'm', tag: null, digest: `sha256:${SHA}` }],
])('%s is an artifact', (text, artifact) => {
  expect(parseModelReference(text)).toEqual({ source: 'OCI', ...artifact });
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
    ['s3:bucket/model', "'s3:bucket/model' is not a model: write s3://BUCKET/KEY#sha256=…"],
    [
      's3://models/a.gguf',
      "'s3://models/a.gguf' needs the SHA-256 of the file: add #sha256= and its 64 hexadecimal digits",
    ],
    ['s3://M/a', "'s3://M/a': the bucket must have 3 to 63 of a-z, 0-9, . and -"],
    ['s3://models/a/', "'s3://models/a/': must end with the name of a file"],
    ['s3://models/../a', "'s3://models/../a': the key must be a path of names"],
    ['s3://models/a?x=1', "'s3://models/a?x=1': only endpoint and region may follow the ?"],
    [
      's3://models/a?endpoint=ftp://x',
      "'s3://models/a?endpoint=ftp://x': the endpoint must be a URL such as https://s3.example.com",
    ],
    ['s3://models/a?region=a/b', "'s3://models/a?region=a/b': the region must have 1 to 40 letters, digits and -"],
    [
      'oci:org/model',
      "'oci:org/model' names no registry: write oci://REGISTRY/REPOSITORY, such as oci://docker.io/ai/qwen3",
    ],
    ['oci://r.io/Model', "'oci://r.io/Model' is not an artifact: 'Model' has upper-case letters"],
    ['oci://r.io/m@md5:abc', "'oci://r.io/m@md5:abc': the digest must be a SHA-256"],
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
  's3://bucket/',
  'oci://r.io/',
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
    } else if (result.source === 'HTTPS') expect(new URL(result.url).href).toBe(result.url);
    else if (result.source === 'S3') expect(result.name).not.toMatch(/\/\.\.?(?:\/|$)|[\p{Cc}#\\]/u);
    else expect(result.repository).not.toMatch(/\.\./);
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
  const artifact = { source: 'OCI', name: 'oci://r.io/m', commit: `sha256:${SHA}` } as const;
  const { source } = artifact;
  const place = { source, registry: 'r.io', repository: 'm' };
  expect(parseModelReference(sourceOf({ ...artifact, revision: 'v1' }))).toEqual({ ...place, tag: 'v1', digest: null });
  const pinned = { ...place, tag: null, digest: artifact.commit };
  expect(parseModelReference(sourceOf({ ...artifact, revision: null }))).toEqual(pinned);
  const object = { source: 'S3', name: 's3://models/a?region=x', revision: null, commit: artifact.commit } as const;
  expect(parseModelReference(referenceOf(object))).toEqual({ source: 'S3', name: object.name, sha256: SHA });
  const file = { source: 'HTTPS', name: 'https://example.com/m', revision: null, commit: `sha256:${SHA}` } as const;
  expect(parseModelReference(sourceOf(file))).toEqual({ source: 'HTTPS', url: file.name, sha256: SHA });
});

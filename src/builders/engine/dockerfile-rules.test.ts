import { afterEach, describe, expect, test } from 'vitest';
import { Failure } from '../../core/errors.ts';
import { ANY_REGISTRY, useRegistries } from '../../domain/images/registry-policy.ts';
import { checkDockerfile, checkTriggers } from './dockerfile-rules.ts';

afterEach(() => useRegistries(ANY_REGISTRY));

const named: string[] = [];
const admitBase = async (image: string) => {
  named.push(image);
  if (image.startsWith('private/')) throw new Failure('badRequest', `image: ${image} is somebody else's.`);
};
const check = (text: string, args: Record<string, string> = {}) =>
  checkDockerfile('Dockerfile', text, { args, admitBase, platform: 'linux/amd64' });
const basesOf = async (text: string, args?: Record<string, string>) =>
  (await check(text, args)).map(({ line, image, replaced }) => [line, image, replaced('pinned')]);

test('an image that its owner may not use is refused with its line, wherever it is named', async () => {
  for (const line of ['FROM private/a', 'COPY --from=private/a /a /', 'RUN --mount=from=private/a,target=/a true']) {
    await expect(check(`FROM open/b\n${line}`)).rejects.toMatchObject({
      kind: 'unprocessable',
      message: "Dockerfile, line 2: private/a is somebody else's.",
    });
  }
  named.length = 0;
  await check('FROM open/b AS first\nFROM scratch\nCOPY --from=first /a /\nCOPY --from=0 /a /');
  expect(named).toEqual(['open/b']); // stages are not images
});

describe('what the engine would fetch from the network of the machine is refused', () => {
  test.each([
    ['an ADD of an address', 'FROM a\nADD http://127.0.0.1:8080/keys /keys', 2],
    ['in any case, after flags', 'FROM a\nadd --chown=1:1 HTTPS://example.com/x /x', 2],
    ['in the form of JSON', 'FROM a\nADD ["http://169.254.169.254/", "/x"]', 2],
    ['in JSON without blanks', 'FROM a\nADD ["http://169.254.169.254/","/x"]', 2],
    ['of a repository', 'FROM a\nADD git@github.com:me/x.git /x', 2],
    ['behind a variable', 'FROM a\nARG U=http://127.0.0.1/\nADD $U /x', 3],
    ['on a line that goes on', 'FROM a\nADD \\\n# why\n  http://127.0.0.1/ /x', 2],
    ['for a later image', 'FROM a\nONBUILD ADD http://127.0.0.1/ /x', 2],
    ['behind another escape', '# escape=`\nFROM a\nADD `\nhttp://127.0.0.1/ /x', 3],
    ['a base image of a cloud’s service', 'FROM 169.254.169.254/x:1', 1],
    ['by the preset of an argument', 'ARG R=169.254.169.254\nFROM --platform=linux/amd64 $R/x', 2],
    ['in a stage to copy from', 'FROM a\nCOPY --from=169.254.169.254/x /a /b', 2],
    ['in a mount', 'FROM a\nRUN --mount=type=bind,from=169.254.169.254/x,target=/x true', 2],
    ['in a word that goes on', 'FROM a\nAD\\\nD http://127.0.0.1/ /x', 2],
    ['after a blank that only engines know', 'FROM a\n\u0085ADD http://127.0.0.1/ /x', 2],
    [
      'in a base behind a stage of a here-document',
      'RUN <<E\nFROM scratch AS 169.254.169.254/x\nE\nFROM 169.254.169.254/x',
      4,
    ],
    ['in a base that a later ARG hides', 'ARG R=169.254.169.254\nFROM a\nARG R=b\nFROM $R/x', 4],
    ['in a base on a line that goes on', 'FROM \\\na', 1],
    ['in a base whose word goes on', 'FR\\\nOM a', 1],
    ['in a base that may be a part of another line', 'RUN x\\\\\nFROM a', 2],
    ['in a base for another processor', 'FROM --platform=linux/arm64 a', 1],
    ['another frontend', '# syntax=evil/frontend:1\nFROM a', 1],
    ['one after other comments', '#!/usr/bin/env x\n\n# escape=`\n// Syntax = evil/frontend\nFROM a', 1],
    ['one in JSON', '{"syntax": "evil/frontend"}', 1],
  ])('%s', async (_, text, line) => {
    await expect(check(text)).rejects.toMatchObject({
      kind: 'unprocessable',
      message: expect.stringMatching(new RegExp(`^Dockerfile, line ${line}: .*\\.$`)),
    });
  });

  test('by the value of an argument', async () => {
    const text = `ARG BASE=a\nFROM \${BASE:-b}`;
    await check(text);
    await expect(check(text, { BASE: '169.254.169.254/x' })).rejects.toMatchObject({ kind: 'unprocessable' });
  });

  test('from a registry that the operator does not allow', async () => {
    useRegistries({ ...ANY_REGISTRY, allowed: ['ghcr.io'] });
    await expect(
      check('FROM ghcr.io/a/b AS one\nFROM one\nCOPY --from=one /a /\nCOPY --from=0 /a /'),
    ).resolves.toHaveLength(1);
    await expect(check('FROM ghcr.io/a/b AS one\nCOPY --from=two /a /')).rejects.toMatchObject({
      kind: 'unprocessable',
    });
    await expect(check('FROM scratch')).resolves.toEqual([]);
  });
});

test('ordinary Dockerfiles pass', async () => {
  await check(`# syntax=docker/dockerfile:1
ARG VERSION=3.12
FROM --platform=linux/amd64 python:\${VERSION}-slim AS build
ADD archive.tar.gz /src/
ADD --chown=1:1 ["a b", "/c"]
RUN --mount=type=cache,target=/root/.cache --mount=type=secret,id=TOKEN \\
    # a comment
    pip install -r requirements.txt && curl http://127.0.0.1:1/
FROM build
COPY --from=build --chown=1:1 /src /src
CMD ["python", "x.py"]
`);
});

test('what begins a stage is found, and nothing else of its line changes', async () => {
  const text = `ARG VERSION=3.12
ARG BASE="python:$VERSION"
FROM --platform=$BUILDPLATFORM \${BASE}-slim AS Build
FROM scratch AS empty
FROM build
ARG BASE=other
from $BASE
FROM base-\${TARGETARCH} as last
`;
  expect(await basesOf(text, { VERSION: '3.13' })).toEqual([
    [3, 'python:3.13-slim', 'FROM --platform=$BUILDPLATFORM pinned AS Build'],
    [7, 'python:3.13', 'FROM pinned'],
    [8, 'base-amd64', 'FROM pinned as last'],
  ]);
  expect(await basesOf('FROM --platform=x86_64 a\nFROM --platform=linux b')).toHaveLength(2);
});

test('what an image brings along is judged as if it were written after its line', async () => {
  const [base] = await check('FROM open/a AS first\nFROM open/b\n').then((bases) => bases.slice(1));
  const judge = (...triggers: string[]) =>
    checkTriggers('Dockerfile', base!, triggers, { args: {}, admitBase, platform: 'linux/amd64' });
  await judge('COPY --from=first /a /', 'RUN pip install .', 'ADD . /app');
  for (const trigger of [
    'ADD http://127.0.0.1/ /x',
    'ADD $U /x',
    'COPY --from=169.254.169.254/x /a /',
    'RUN a\nADD https://x /y',
  ]) {
    await expect(judge('RUN true', trigger)).rejects.toMatchObject({
      kind: 'unprocessable',
      message: expect.stringMatching(/^Dockerfile, line 2: the image 'open\/b' has a trigger: .*\.$/),
    });
  }
  await expect(judge('COPY --from=private/a /a /')).rejects.toThrow("somebody else's");
});

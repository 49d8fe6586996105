import { afterEach, describe, expect, test } from 'vitest';
import { Failure } from '../../core/errors.ts';
import { ANY_REGISTRY, useRegistries } from '../../domain/images/registry-policy.ts';
import { checkDockerfile } from './dockerfile-rules.ts';

afterEach(() => useRegistries(ANY_REGISTRY));

const named: string[] = [];
const admitBase = async (image: string) => {
  named.push(image);
  if (image.startsWith('private/')) throw new Failure('badRequest', `image: ${image} is somebody else's.`);
};
const check = (text: string, args: Record<string, string> = {}) =>
  checkDockerfile('Dockerfile', text, { args, admitBase });

test('an image that its owner may not use is refused with its line, wherever it is named', async () => {
  for (const line of ['FROM private/a', 'COPY --from=private/a /a /', 'RUN --mount=from=private/a,target=/a true']) {
    await expect(check(`FROM open/b\n${line}`)).rejects.toMatchObject({
      kind: 'unprocessable',
      message: "Dockerfile, line 2: private/a is somebody else's.",
    });
  }
  named.length = 0;
  await check('FROM open/b AS first\nFROM scratch\nCOPY --from=first /a /\nCOPY --from=0 /a /');
  expect(named).toEqual(['open/b']); // stages are no images
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
    ).resolves.toBeUndefined();
    await expect(check('FROM ghcr.io/a/b AS one\nCOPY --from=two /a /')).rejects.toMatchObject({
      kind: 'unprocessable',
    });
    await expect(check('FROM scratch')).resolves.toBeUndefined();
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

import { expect, test } from 'vitest';
import { identityOf } from './image-identity.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

test.each([
  ['ghcr.io/me/ml:2', `docker-pullable://ghcr.io/me/ml@${DIGEST}`, `ghcr.io/me/ml@${DIGEST}`],
  ['ghcr.io/me/ml:2', `ghcr.io/me/ml@${DIGEST}`, `ghcr.io/me/ml@${DIGEST}`],
  ['10.0.0.1:5000/ml', `10.0.0.1:5000/ml@${DIGEST}`, `10.0.0.1:5000/ml@${DIGEST}`],
  ['nginx', `docker.io/library/nginx@${DIGEST}`, `nginx@${DIGEST}`],
  ['podyard/echo-js:dev', `docker.io/podyard/echo-js@${DIGEST}`, `podyard/echo-js@${DIGEST}`],
])('a pod of %s that reports %s runs %s', (image, reported, reference) => {
  expect(identityOf(image, reported)).toEqual({ digest: DIGEST, reference });
});

test.each([
  '',
  DIGEST,
  `docker://${DIGEST}`,
  `ghcr.io/you/ml@${DIGEST}`,
  `docker.io/me/ml@${DIGEST}`,
  'ghcr.io/me/ml@sha256:abc',
])('what is reported as %j names nothing that a node could pull by the image’s name', (reported) => {
  expect(identityOf('ghcr.io/me/ml:2', reported)).toBeNull();
});

import { expect, test } from 'vitest';
import { type BuildId, newId } from '../../core/ids.ts';
import { findImageFault } from '../images/image-reference.ts';
import { buildIdOf, buildImageOf, isBuildImage } from './build-image.ts';

test('an image names its build, and is a valid reference', () => {
  const id = newId<BuildId>();
  const image = buildImageOf('my-app.web_2', id);
  expect([findImageFault(image), isBuildImage(image), buildIdOf(image)]).toEqual([null, true, id]);
});

test.each([
  'builds.podyard.internal/app',
  'builds.podyard.internal/app:latest',
  'builds.podyard.internal/app/sub:a23456789bcdef',
  'builds.podyard.internal/app:a23456789bcdef@sha256:00',
  'Builds.Podyard.Internal/app:a23456789bcdef',
])('%s has the host of built images, and no build has made it', (image) => {
  expect([isBuildImage(image), buildIdOf(image)]).toEqual([true, null]);
});

test.each(['python:3.12', 'docker.io/builds.podyard.internal/app:1', 'builds.podyard.internal.example/app:1'])(
  '%s is not a built image',
  (image) => {
    expect([isBuildImage(image), buildIdOf(image)]).toEqual([false, null]);
  },
);

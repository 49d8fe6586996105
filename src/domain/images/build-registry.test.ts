import { expect, test } from 'vitest';
import type { BuildId } from '../../core/ids.ts';
import { buildImageOf } from '../builds/build-image.ts';
import { buildTagOf, imageOfBuildTag, pulledName } from './build-registry.ts';

const ID = 'b7k2m9x4c1v8zt' as BuildId;
const OURS = 'i1234567890abc';
const REGISTRY = { host: 'registry.example.com:5000', repository: 'team/podyard', auth: null };
const DIGEST = `sha256:${'0a'.repeat(32)}`;

test.each(['app', 'a.b-c_d', 'x'.repeat(63)])('the tag of an image named %s leads back to it', (name) => {
  const image = buildImageOf(name, ID);
  const tag = buildTagOf(image, OURS)!;
  expect(tag).toMatch(/^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}$/);
  expect(imageOfBuildTag(tag, OURS)).toBe(image);
  expect(imageOfBuildTag(tag, 'i1234567890abd')).toBeNull();
});

test.each(['latest', OURS, `${OURS}.`, `${OURS}.app`, `${OURS}..${ID}`, `${OURS}.App.${ID}`, `${OURS}.app.short`])(
  'the tag %s is nobody’s',
  (tag) => expect(imageOfBuildTag(tag, OURS)).toBeNull(),
);

test('nodes pull what a build made by its digest, or its tag, and everything else by its name', () => {
  const name = (image: string) => pulledName(image, REGISTRY, OURS);
  expect(name('busybox:1')).toBe('busybox:1');
  expect(name(`builds.podyard.internal/app@${DIGEST}`)).toBe(`registry.example.com:5000/team/podyard@${DIGEST}`);
  expect(name(buildImageOf('app', ID))).toBe(`registry.example.com:5000/team/podyard:${OURS}.app.${ID}`);
  expect(name('builds.podyard.internal/app:latest')).toBeNull();
  expect(pulledName(buildImageOf('app', ID), null, OURS)).toBeNull();
});

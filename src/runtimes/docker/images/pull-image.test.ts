import { expect, test } from 'vitest';
import { familiarName, withTag } from './pull-image.ts';

test('a name without a tag means latest: the engine would pull every tag', () => {
  expect(withTag('nginx')).toBe('nginx:latest');
  expect(withTag('localhost:5000/nginx')).toBe('localhost:5000/nginx:latest');
  expect(withTag('ghcr.io/a/b:v1')).toBe('ghcr.io/a/b:v1');
  expect(withTag('a@sha256:00')).toBe('a@sha256:00');
});

test('the different names of a Docker Hub image become one', () => {
  const names = ['nginx', 'nginx:latest', 'library/nginx', 'docker.io/nginx', 'index.docker.io/library/nginx:latest'];
  expect(new Set(names.map(familiarName))).toEqual(new Set(['nginx:latest']));
  expect(familiarName('ghcr.io/library/nginx')).toBe('ghcr.io/library/nginx:latest');
});

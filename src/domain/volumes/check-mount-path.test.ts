import { expect, test } from 'vitest';
import { checkMountPath } from './check-mount-path.ts';

test('an absolute path is accepted and normalized', () => {
  expect(checkMountPath('/workspace')).toBe('/workspace');
  expect(checkMountPath('/workspace/')).toBe('/workspace');
  expect(checkMountPath('//data//models')).toBe('/data/models');
  expect(checkMountPath('/usr/local/share/models')).toBe('/usr/local/share/models');
  expect(checkMountPath('/dev-data')).toBe('/dev-data');
});

test.each([
  ['workspace', 'must be absolute'],
  ['', 'must be absolute'],
  ['/', 'belongs to the system'],
  ['//', 'belongs to the system'],
  ['/etc', 'belongs to the system'],
  ['/usr/', 'belongs to the system'],
  ['/a/../etc', "must not hold '.' or '..'"],
  ['/./proc', "must not hold '.' or '..'"],
  ['/proc', 'belongs to the kernel'],
  ['//sys/fs', 'belongs to the kernel'],
  ['/dev/shm', 'belongs to the kernel'],
  ['/a\nb', 'control character'],
  ['/a\u0000', 'control character'],
  [`/${'a'.repeat(5000)}`, 'is too long'],
])('%j is refused, with the reason', (path, reason) => {
  expect(() => checkMountPath(path)).toThrow(reason);
});

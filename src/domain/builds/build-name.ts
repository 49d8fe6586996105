import { BUILD_NAME, MAX_BUILD_NAME_LENGTH } from './build-image.ts';

/** Returns a name as images may have it. */
export function buildNameOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_BUILD_NAME_LENGTH)
    .replaceAll(/^-|-$/g, '');
  return BUILD_NAME.test(slug) ? slug : 'endpoint';
}

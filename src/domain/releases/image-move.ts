import type { ReleaseChange } from './release.ts';

/** Returns the change of a release whose image has the same name as before and another digest. */
export function imageMove(image: string, before: string, now: string): ReleaseChange {
  const [name] = image.split('@') as [string];
  return { field: 'image', old: `${name}@${before}`, new: `${name}@${now}` };
}

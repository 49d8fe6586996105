import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Build } from './build.ts';
import { buildIdOf, isBuildImage } from './build-image.ts';

/**
 * Throws `badRequest` if an image has the name of a built one and no finished build of the user made it, or it was removed. Locks the
 * build until the transaction ends, so that its image is not removed before whatever uses it is stored.
 */
export async function checkBuildImage(db: Db, userId: UserId, image: string): Promise<void> {
  if (!isBuildImage(image)) return;
  const id = buildIdOf(image);
  const { rows } = await db.query<Pick<Build, 'status' | 'image' | 'name'>>(
    'select status, image, name from builds where id = $1 and user_id = $2 for share',
    [id, userId],
  );
  const build = rows[0];
  if (build?.image === image) return;
  if (build?.status !== 'COMPLETED') {
    const what = build ? `build '${id}' is ${build.status}` : `there is no build with the image '${image}'`;
    throw new Failure('badRequest', `image: ${what}`);
  }
  const what =
    build.image === null
      ? `the image of build '${id}' was removed: build it again`
      : `build '${id}' made '${build.image}'`;
  throw new Failure('badRequest', `image: ${what}`);
}

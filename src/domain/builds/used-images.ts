import type { BuildId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { BUILD_HOST } from './build-image.ts';

/** Releases of an endpoint that it can be rolled back to without building again. */
const RELEASES_WITHIN_REACH = 10;

/** True while a worker or pod of the image runs, or is to. */
export async function isImageUsed(db: Db, image: string): Promise<boolean> {
  const { rows } = await db.query<{ isUsed: boolean }>(
    `select exists (select from workers where phase <> 'EXITED' and spec ->> 'image' = $1)
         or exists (select from pods where gone_at is null and image = $1) as "isUsed"`,
    [image],
  );
  return rows[0]!.isUsed;
}

/** Images that endpoints, their newest releases, live workers, templates and pods have. */
const WANTED = `
  select image from endpoints where starts_with(image, '${BUILD_HOST}/')
  union select image from templates where starts_with(image, '${BUILD_HOST}/')
  union select image from pods where gone_at is null and starts_with(image, '${BUILD_HOST}/')
  union select spec ->> 'image' from workers where phase <> 'EXITED' and starts_with(spec ->> 'image', '${BUILD_HOST}/')
  union select r.spec ->> 'image' from releases r join endpoints e on e.id = r.endpoint_id
    where r.version > e.version - ${RELEASES_WITHIN_REACH} and starts_with(r.spec ->> 'image', '${BUILD_HOST}/')`;

/**
 * Gives up the images that nothing wants and that are not among the newest `kept` of their user and name. From then on they cannot be used;
 * `listKeptImages` no longer has them, and their builder removes them. Returns the builds.
 */
export async function giveUpImages(pool: Pool, kept: number): Promise<BuildId[]> {
  return transaction(pool, async (db) => {
    const { rows } = await db.query<{ id: BuildId }>(
      `with ranked as (
         select id, row_number() over (partition by user_id, name order by number desc) as rank from builds where image is not null
       ), old as (
         select b.id from builds b join ranked using (id)
         where rank > $1 and b.image not in (${WANTED}) order by b.id for update of b skip locked
       )
       update builds b set image = null from old where b.id = old.id returning b.id`,
      [kept],
    );
    return rows.map(({ id }) => id);
  });
}

/** Returns the builds whose image stays: those that have one, and those that have not ended. */
export async function listKeptImages(db: Db): Promise<Set<string>> {
  const { rows } = await db.query<{ id: BuildId }>('select id from builds where image is not null or ended_at is null');
  return new Set(rows.map(({ id }) => id));
}

/** Deletes ended builds without an image that are older than a month, with their logs. */
export async function deleteOldBuilds(db: Db): Promise<void> {
  await db.query("delete from builds where image is null and ended_at < now() - interval '30 days'");
}

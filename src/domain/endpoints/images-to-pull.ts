import type { EndpointId, RegistryId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** The image of a release that may get workers, and the registry whose credentials pull it. */
export interface ImageToPull {
  endpointId: EndpointId;
  version: number;
  userId: UserId;
  image: string;
  registryId: RegistryId | null;
}

/** Returns the images of the newest releases of those of these endpoints that may have workers. */
export async function listImagesToPull(db: Db, ids: readonly EndpointId[]): Promise<ImageToPull[]> {
  const result = await db.query<ImageToPull>({
    name: 'images-to-pull',
    text: `select id as "endpointId", version, user_id as "userId", image, registry_id as "registryId" from endpoints
           where id = any($1::text[]) and workers_max > 0`,
    values: [ids],
  });
  return result.rows;
}

/** True when any endpoint may have workers. */
export async function hasImagesToPull(db: Db): Promise<boolean> {
  const result = await db.query<{ found: boolean }>(
    'select exists(select from endpoints where workers_max > 0) as found',
  );
  return result.rows[0]!.found;
}

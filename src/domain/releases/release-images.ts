/** The identities of releases' images. Only control writes them; a digest that is set never changes. */
import type { EndpointId, RegistryId, ReleaseId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { ImageIdentity } from '../images/image-identity.ts';

/** Names a release as workers do. */
export interface ReleaseKey {
  endpointId: EndpointId;
  version: number;
}

export interface ResolvedImage {
  identity: ImageIdentity | null;
  problem: string | null;
}

const IDENTITY = `case when image_digest is not null
  then jsonb_build_object('digest', image_digest, 'reference', image_reference) end as identity`;

/** A release by name, for maps. */
export function keyOfRelease({ endpointId, version }: ReleaseKey): string {
  return `${endpointId}/${version}`;
}

/** Returns null for a release that does not exist. */
export async function findResolvedImage(db: Db, release: ReleaseKey): Promise<ResolvedImage | null> {
  return (await findResolvedImages(db, [release])).get(keyOfRelease(release)) ?? null;
}

/** Returns those of the releases that exist, by `keyOfRelease`. */
export async function findResolvedImages(db: Db, releases: readonly ReleaseKey[]): Promise<Map<string, ResolvedImage>> {
  const result = await db.query<ReleaseKey & ResolvedImage>({
    name: 'release-images',
    text: `select r.endpoint_id as "endpointId", r.version, ${IDENTITY}, image_problem as problem
           from unnest($1::text[], $2::int[]) as n(endpoint_id, version)
           join releases r on r.endpoint_id = n.endpoint_id and r.version = n.version`,
    values: [releases.map(({ endpointId }) => endpointId), releases.map(({ version }) => version)],
  });
  return new Map(result.rows.map(({ identity, problem, ...key }) => [keyOfRelease(key), { identity, problem }]));
}

/** A release, and what its image was found to be. */
export type FoundImage = ReleaseKey & ImageIdentity;

/** Sets the identity unless it is set, and returns the one that counts; null for a release that does not exist. */
export async function pinReleaseImage(
  db: Db,
  release: ReleaseKey,
  { digest, reference }: ImageIdentity,
): Promise<ImageIdentity | null> {
  return (await pinReleaseImages(db, [{ ...release, digest, reference }])).get(keyOfRelease(release)) ?? null;
}

/** As `pinReleaseImage`, for several; by `keyOfRelease`. Of two identities for one release either counts. */
export async function pinReleaseImages(db: Db, found: readonly FoundImage[]): Promise<Map<string, ImageIdentity>> {
  const rows = [...found].sort((a, b) => (keyOfRelease(a) < keyOfRelease(b) ? -1 : 1)); // locked in one order
  const result = await db.query<ReleaseKey & { identity: ImageIdentity }>({
    name: 'release-images-pin',
    text: `update releases r set image_reference = case when image_digest is null then n.reference else image_reference end,
             image_resolved_at = coalesce(image_resolved_at, now()), image_digest = coalesce(image_digest, n.digest),
             image_problem = null
           from jsonb_to_recordset($1::jsonb) as n("endpointId" text, version int, digest text, reference text)
           where r.endpoint_id = n."endpointId" and r.version = n.version
           returning r.endpoint_id as "endpointId", r.version, ${IDENTITY}`,
    values: [JSON.stringify(rows)],
  });
  return new Map(result.rows.map(({ identity, ...key }) => [keyOfRelease(key), identity]));
}

/** `problem`: why the image cannot be had; null once it can. */
export async function updateImageProblem(
  db: Db,
  { endpointId, version }: ReleaseKey,
  problem: string | null,
): Promise<void> {
  await db.query('update releases set image_problem = $3 where endpoint_id = $1 and version = $2', [
    endpointId,
    version,
    problem,
  ]);
}

/** Asks control to resolve the image's name again. */
export async function askForImage(db: Db, { endpointId, version }: ReleaseKey): Promise<void> {
  await db.query(
    `update releases set image_asked_at = clock_timestamp()
     where endpoint_id = $1 and version = $2`,
    [endpointId, version],
  );
}

/** A release whose image is to be resolved again. */
export interface AskedImage extends ReleaseKey {
  userId: UserId;
  image: string;
  registryId: RegistryId | null;
  /** The identity that it stood for; null: it was never resolved. */
  identity: ImageIdentity | null;
  askedAt: Date;
  /** Since then, when it was read. */
  waitedMs: number;
}

/** Returns them in turns of their users, of each the longest waiting first. Served by releases_image_asked. */
export async function listAskedImages(db: Db, limit: number): Promise<AskedImage[]> {
  const result = await db.query<AskedImage>(
    `select r.endpoint_id as "endpointId", r.version, e.user_id as "userId", r.spec ->> 'image' as image,
            r.spec ->> 'registryId' as "registryId", ${IDENTITY}, r.image_asked_at as "askedAt",
            extract(epoch from clock_timestamp() - r.image_asked_at)::float8 * 1000 as "waitedMs"
     from releases r join endpoints e on e.id = r.endpoint_id
     where r.image_asked_at is not null
     order by row_number() over (partition by e.user_id order by r.image_asked_at), r.image_asked_at limit $1`,
    [limit],
  );
  return result.rows;
}

/** Records the answer, with what is wrong; unless the image was asked for again meanwhile. */
export async function settleAsked(
  db: Db,
  { endpointId, version, askedAt }: Pick<AskedImage, 'endpointId' | 'version' | 'askedAt'>,
  problem: string | null,
): Promise<void> {
  await db.query(
    `update releases set image_asked_at = null, image_problem = $4
     where endpoint_id = $1 and version = $2 and date_trunc('milliseconds', image_asked_at) = $3`,
    [endpointId, version, askedAt, problem],
  );
}

/** The image of a release, for its owner. */
export interface ReleaseImage {
  releaseId: ReleaseId;
  version: number;
  image: string;
  digest: string | null;
  resolvedAt: Date | null;
  problem: string | null;
  /** Control is about to resolve the name again. */
  isAsked: boolean;
}

/** Returns the images of an endpoint's releases, newest first. The endpoint's row identifies the owner. */
export async function listReleaseImages(db: Db, userId: UserId, endpointId: EndpointId): Promise<ReleaseImage[]> {
  const result = await db.query<ReleaseImage>(
    `select r.id as "releaseId", r.version, r.spec ->> 'image' as image, r.image_digest as digest,
            r.image_resolved_at as "resolvedAt", r.image_problem as problem, r.image_asked_at is not null as "isAsked"
     from releases r join endpoints e on e.id = r.endpoint_id
     where e.id = $1 and e.user_id = $2 order by r.version desc`,
    [endpointId, userId],
  );
  return result.rows;
}

/** Runtimes that start what a registry has by its digest there. */
const OF_REGISTRIES = ['docker', 'kubernetes'];

/** After a change of runtime: forgets identities that only the former one can start. They are resolved again; those in a registry stay. */
export async function forgetImagesOf(db: Db, before: string, now: string): Promise<void> {
  const haveRegistries = OF_REGISTRIES.includes(before) && OF_REGISTRIES.includes(now);
  await db.query(
    `update releases set image_digest = null, image_reference = null, image_resolved_at = null, image_problem = null
     where image_reference is not null and not ($1 and image_reference like '%@%')`,
    [haveRegistries],
  );
}

/** Returns what runtimes must be able to start: the references of all releases, which can all be rolled back to. */
export async function listImageReferences(db: Db): Promise<string[]> {
  const result = await db.query<{ reference: string }>(
    'select distinct image_reference as reference from releases where image_reference is not null',
  );
  return result.rows.map(({ reference }) => reference);
}

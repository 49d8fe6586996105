import type { BuildId, EndpointId, GitSourceId, UserId } from '../../core/ids.ts';
import { type Db, foundRow } from '../../db/pool.ts';
import type { Build, BuildStep, FolderEntry, GitCommit } from './build.ts';
import { buildNameOf } from './build-image.ts';
import { contentHashOf } from './content-hash.ts';
import type { Recipe } from './recipe.ts';

/** The columns of a Build; `b`: its row. */
const COLUMNS = `
  b.id, b.user_id as "userId", b.name, b.status, b.image, b.digest, b.size_bytes as "sizeBytes", b.reason,
  b.failed_step as "failedStep", b.source, b.git, b.endpoint_id as "endpointId", b.retry_of as "retryOf",
  b.content_hash as "contentHash", b.created_at as "createdAt", b.started_at as "startedAt", b.ended_at as "endedAt", b.number,
  (select coalesce(json_agg(json_build_object(
     'name', s.name, 'status', s.status, 'startedAt', s.started_at, 'endedAt', s.ended_at) order by s.number), '[]')
   from build_steps s where s.build_id = b.id) as steps`;

/** The input of a build, as its row holds it. */
export interface BuildInput {
  name: string;
  recipe: Recipe;
  args: Readonly<Record<string, string>>;
  /** Names of secrets, by the id under which a step mounts each. */
  secrets: Readonly<Record<string, string>>;
  /** Ids of registries whose credentials pull images, by the host with which those begin. */
  registries: Readonly<Record<string, string>>;
  usesCache: boolean;
  /** Until an endpoint has taken the image, the build is listed with this one. Null or absent: with those of its name. */
  meantFor?: EndpointId | null | undefined;
}

/** Where a build comes from. `settings`: what its endpoint takes with the image, a GitSettings. `gitSourceId`: whose endpoint takes the image, if no later commit's is there; `sighting`: its order. */
export type BuildOrigin =
  | { source: 'UPLOAD'; git: null; gitSourceId: null; sighting: null; settings: null }
  | { source: 'GIT'; git: GitCommit; gitSourceId: GitSourceId | null; sighting: number; settings: object | null };

export const UPLOAD: BuildOrigin = { source: 'UPLOAD', git: null, gitSourceId: null, sighting: null, settings: null };

type StoredStep = { [K in keyof BuildStep]: K extends `${string}At` ? string | null : BuildStep[K] };
type BuildRow = Omit<Build, 'steps'> & { number: number; steps: StoredStep[] };

function toBuild({ number: _, steps, ...row }: BuildRow): Build {
  return {
    ...row,
    steps: steps.map(({ startedAt, endedAt, ...step }) => ({
      ...step,
      startedAt: new Date(startedAt!),
      endedAt: endedAt === null ? null : new Date(endedAt),
    })),
  };
}

/** Throws `notFound`. */
export async function getBuild(db: Db, userId: UserId, id: BuildId): Promise<Build> {
  return toBuild(
    foundRow(
      await db.query<BuildRow>({
        name: 'build-get',
        text: `select ${COLUMNS} from builds b where b.id = $1 and b.user_id = $2`,
        values: [id, userId],
      }),
      'Build',
    ),
  );
}

/** Returns the build name of a user's endpoint; undefined without such an endpoint. */
export async function findBuildName(db: Db, userId: UserId, endpointId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ name: string }>('select name from endpoints where id = $1 and user_id = $2', [
    ...[endpointId, userId],
  ]);
  return rows[0] && buildNameOf(rows[0].name);
}

/** Returns a page of a user's builds, newest first. Served by builds_by_user, builds_by_endpoint or builds_by_content. */
export async function listBuilds(
  db: Db,
  userId: UserId,
  page: {
    name?: string | undefined;
    /** The builds whose image it took. */
    endpointId?: string | undefined;
    /** With `endpointId`: also those for it whose image no endpoint took. They are of its repository or meant for it, or have this name and no image. */
    triedName?: string | undefined;
    contentHash?: string | undefined;
    limit: number;
    before?: number | undefined;
  },
): Promise<{ builds: Build[]; next: number | null }> {
  const { rows } = await db.query<BuildRow>({
    name: 'build-list',
    text: `select ${COLUMNS} from (
             select * from builds where user_id = $1 and ($2::text is null or name = $2)
               and ($3::text is null or endpoint_id = $3 or $7::text is not null and endpoint_id is null and (
                 git_source_id = (select id from git_sources where endpoint_id = $3)
                 or git_source_id is null and status <> 'COMPLETED' and (meant_for = $3 or meant_for is null and name = $7)))
               and ($4::int8 is null or number < $4)
               and ($6::text is null or content_hash = $6)
             order by number desc limit $5) b order by b.number desc`,
    values: [
      userId,
      page.name ?? null,
      page.endpointId ?? null,
      page.before ?? null,
      page.limit + 1,
      page.contentHash ?? null,
      page.triedName ?? null,
    ],
  });
  const shown = rows.slice(0, page.limit);
  return { builds: shown.map(toBuild), next: rows.length > page.limit ? shown.at(-1)!.number : null };
}

/** Stores a build, QUEUED, with its folder. */
export async function insertBuild(
  db: Db,
  build: BuildInput & {
    id: BuildId;
    userId: UserId;
    origin: BuildOrigin;
    retryOf: BuildId | null;
    entries: readonly FolderEntry[];
  },
): Promise<Build> {
  const {
    id,
    userId,
    name,
    origin,
    recipe,
    args,
    secrets,
    registries,
    usesCache,
    retryOf,
    entries,
    meantFor = null,
  } = build;
  await db.query(
    `insert into builds (id, user_id, name, source, recipe, args, secrets, uses_cache, retry_of, content_hash,
       git, git_source_id, sighting, registries, settings, meant_for, deployment)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, case when $12::text is not null then 'PENDING' end)`,
    [
      id,
      userId,
      name,
      origin.source,
      JSON.stringify(recipe),
      JSON.stringify(args),
      JSON.stringify(secrets),
      usesCache,
      retryOf,
      contentHashOf({ entries, recipe, args, secrets }),
      origin.git === null ? null : JSON.stringify(origin.git),
      origin.gitSourceId,
      origin.sighting,
      JSON.stringify(registries),
      origin.settings === null ? null : JSON.stringify(origin.settings),
      meantFor,
    ],
  );
  await db.query('insert into build_folders (build_id, entries) values ($1, $2)', [id, JSON.stringify(entries)]);
  return getBuild(db, userId, id);
}

/** Locks a build against its runner and other changes. Throws `notFound`. */
export async function lockBuild(
  db: Db,
  userId: UserId,
  id: BuildId,
): Promise<Pick<Build, 'status' | 'endedAt'> & BuildInput & { origin: BuildOrigin }> {
  const { source, git, gitSourceId, sighting, settings, ...build } = foundRow(
    await db.query<Pick<Build, 'status' | 'endedAt'> & BuildInput & BuildOrigin>(
      `select status, ended_at as "endedAt", source, git, git_source_id as "gitSourceId", sighting, name, recipe, args, secrets,
            registries, settings, meant_for as "meantFor", uses_cache as "usesCache"
     from builds where id = $1 and user_id = $2 for no key update`,
      [id, userId],
    ),
    'Build',
  );
  return { ...build, origin: { source, git, gitSourceId, sighting, settings } as BuildOrigin };
}

export async function readFolder(db: Db, id: BuildId): Promise<FolderEntry[]> {
  const text = 'select entries from build_folders where build_id = $1';
  return foundRow(await db.query<{ entries: FolderEntry[] }>(text, [id]), 'Build').entries;
}

/** Notes the endpoint that a release with this build's image belongs to. */
export async function noteEndpoint(db: Db, id: BuildId, userId: UserId, endpointId: EndpointId): Promise<void> {
  await db.query('update builds set endpoint_id = $3 where id = $1 and user_id = $2', [id, userId, endpointId]);
}

/** Counts the builds of a user that have not ended. */
export async function countUnfinished(db: Db, userId: UserId): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*) as count from builds where user_id = $1 and ended_at is null',
    [userId],
  );
  return rows[0]!.count;
}

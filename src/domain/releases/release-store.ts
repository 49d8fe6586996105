import { type EndpointId, newId, type ReleaseId, type UserId } from '../../core/ids.ts';
import { type Db, foundRow } from '../../db/pool.ts';
import type { WritingStatement } from '../audit/insert-entry.ts';
import { buildIdOf } from '../builds/build-image.ts';
import { noteEndpoint } from '../builds/build-store.ts';
import type { Endpoint, ReleaseSpec } from '../endpoints/endpoint.ts';
import type { ImageIdentity } from '../images/image-identity.ts';
import type { Release, ReleaseChange } from './release.ts';

/** Returns the part of an endpoint that a release fixes and a worker starts with. */
function releaseSpecOf(endpoint: Endpoint): ReleaseSpec {
  const { image, args, diskGb, ports, env, registryId, gpu, cpu, networkVolumeIds, models } = endpoint;
  return { image, args, diskGb, ports, env, registryId, gpu, cpu, networkVolumeIds, models };
}

/** A release that is to be stored: the endpoint's current version. */
export interface NewRelease {
  endpoint: Endpoint;
  createdBy: UserId;
  diff: readonly ReleaseChange[];
  /** The identity that its image stands for; null: control is to resolve it. */
  image: ImageIdentity | 'as before' | null;
}

/** Returns the text of the insert: from the row of `source`, with parameters after `$skipped`. */
function insertText(source: string, skipped: number): string {
  const at = (n: number) => `$${skipped + n}`;
  return `insert into releases (id, endpoint_id, version, created_by, spec, diff, image_digest, image_reference,
      image_resolved_at)
    select ${[1, 2, 3, 4, 5, 6].map(at).join(', ')}, coalesce(${at(7)}, before.image_digest),
      coalesce(${at(8)}, before.image_reference), case when ${at(7)} is null then before.image_resolved_at else now() end
    from ${source}
    left join releases before on ${at(9)} and before.endpoint_id = ${at(2)} and before.version = ${at(3)} - 1`;
}

function insertedValues({ endpoint, createdBy, diff, image }: NewRelease): unknown[] {
  const given = image === 'as before' ? null : image;
  return [
    newId<ReleaseId>(),
    endpoint.id,
    endpoint.version,
    createdBy,
    JSON.stringify(releaseSpecOf(endpoint)),
    JSON.stringify(diff),
    given?.digest ?? null,
    given?.reference ?? null,
    image === 'as before',
  ];
}

const FIRST = insertText('(select) one', 0);

/** Stores the first release of an endpoint. */
export async function insertFirstRelease(db: Db, release: NewRelease): Promise<void> {
  await db.query({ name: 'release-insert', text: FIRST, values: insertedValues(release) });
  await noteBuild(db, release);
}

let changedText: string | undefined;

/** Returns the statement that changes the endpoint's row by `update`, and stores the release if it did. Call `noteBuild` after it. */
export function releaseStatement(release: NewRelease, update: WritingStatement): WritingStatement {
  changedText ??= insertText('changed', update.values.length);
  return {
    name: 'release-write',
    before: `changed as (${update.text} returning 1)`,
    text: changedText,
    values: [...update.values, ...insertedValues(release)],
  };
}

/** Records that an endpoint uses a build. */
export async function noteBuild(db: Db, { endpoint }: Pick<NewRelease, 'endpoint'>): Promise<void> {
  const buildId = buildIdOf(endpoint.image);
  if (buildId !== null) await noteEndpoint(db, buildId, endpoint.userId, endpoint.id);
}

/** Returns releases, newest first. The endpoint's row identifies the owner. */
export async function listReleaseRows(db: Db, userId: UserId, endpointId: EndpointId): Promise<Release[]> {
  const result = await db.query<Omit<Release, 'buildId'> & { image: string }>(
    `select r.id, r.version, r.created_by as "createdBy", r.created_at as "createdAt", r.diff, r.spec ->> 'image' as image,
            (select count(*) from workers w
             where w.endpoint_id = r.endpoint_id and w.version = r.version and w.phase not in ('FROZEN', 'EXITED')) as "workerCount"
     from releases r join endpoints e on e.id = r.endpoint_id
     where e.id = $1 and e.user_id = $2
     order by r.version desc`,
    [endpointId, userId],
  );
  return result.rows.map(({ image, ...release }) => ({ ...release, buildId: buildIdOf(image) }));
}

export interface RolloutCounts {
  /** Live workers of all releases. */
  total: number;
  /** Live workers of the newest release, and those of them whose container runs. */
  latest: number;
  running: number;
  /** A worker of the newest release has been ready, as far as is known. */
  hasRun: boolean;
}

/** Counts the workers of an endpoint by how far its roll-out is. */
export async function countRollout(db: Db, { id, version }: Endpoint): Promise<RolloutCounts> {
  const result = await db.query<RolloutCounts>({
    name: 'rollout-counts',
    text: `select count(*) as total, count(*) filter (where version = $2) as latest,
                  count(*) filter (where version = $2 and phase = 'RUNNING') as running,
                  coalesce(bool_or(ready_at is not null) filter (where version = $2), false)
                    or exists (select from workers w where w.endpoint_id = $1 and w.phase = 'EXITED'
                               and w.version = $2 and w.ready_at is not null)
                    or exists (select from workers w where w.endpoint_id = $1 and w.phase = 'FROZEN' and w.version = $2)
                    as "hasRun"
           from workers where endpoint_id = $1 and phase <> 'EXITED' and phase <> 'FROZEN'`,
    values: [id, version],
  });
  return result.rows[0]!;
}

/** A release as a roll-back needs it. */
export interface StoredRelease {
  spec: ReleaseSpec;
  version: number;
}

/** Selects a spec in today's form: older ones have no models. */
export const SPEC = (row: string) => `jsonb_build_object('models', '[]'::jsonb) || ${row}.spec as spec`;

/** Throws `notFound` unless it is a release of the user's endpoint. */
export async function getRelease(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  id: ReleaseId,
): Promise<StoredRelease> {
  return foundRow(
    await db.query<StoredRelease>(
      `select ${SPEC('r')}, r.version from releases r join endpoints e on e.id = r.endpoint_id
     where r.id = $1 and e.id = $2 and e.user_id = $3`,
      [id, endpointId, userId],
    ),
    'Release',
  );
}

/** False also if the user has no such endpoint. */
export async function isRolloutPaused(db: Db, userId: UserId, endpointId: EndpointId): Promise<boolean> {
  const result = await db.query<{ isPaused: boolean }>(
    'select is_rollout_paused as "isPaused" from endpoints where id = $1 and user_id = $2',
    [endpointId, userId],
  );
  return result.rows[0]?.isPaused ?? false;
}

export async function updateRolloutPaused(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  isPaused: boolean,
): Promise<void> {
  await db.query('update endpoints set is_rollout_paused = $3 where id = $1 and user_id = $2', [
    endpointId,
    userId,
    isPaused,
  ]);
}

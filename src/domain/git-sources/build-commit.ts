/** Follows a commit: a build, and, once that is there, a release with its image. */
import { isDeepStrictEqual } from 'node:util';
import type { BuildId, EndpointId, GitSourceId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Build, GitCommit } from '../builds/build.ts';
import { buildIdOf } from '../builds/build-image.ts';
import {
  type BuildTx,
  checkBuild,
  checkBuilds,
  checkSecrets,
  type NewBuild,
  queueBuild,
} from '../builds/change-build.ts';
import type { Operation, Tx } from '../change.ts';
import { checkReferences } from '../containers/check-references.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { mergeChange } from '../endpoints/update-endpoint.ts';
import { writeRelease } from '../endpoints/write-endpoint.ts';
import { diffReleases } from '../releases/diff-releases.ts';
import type { ReleaseChange } from '../releases/release.ts';
import { setFloorSchedule } from '../scheduled-floors/change-floors.ts';
import { checkFloorSchedule } from '../scheduled-floors/check-floors.ts';
import { secretNamesIn } from '../secrets/secret-references.ts';
import { commitText, type GitSettings, type GitTarget } from './git-source.ts';

/** `target`: what the source was when it was looked at. */
interface SeenCommit extends NewBuild {
  sourceId: GitSourceId;
  target: GitTarget;
  git: GitCommit;
  settings: GitSettings | null;
}

/**
 * Queues the build of a commit, as the newest that its source has seen. Resolves with null if the source has been changed or
 * disconnected meanwhile. Throws as `createBuild`.
 */
export const buildCommit: Operation<BuildTx, SeenCommit, Build | null, void> = {
  name: 'build.create-from-git',
  permission: () => PERMISSIONS.writeBuild({}),
  async prepare({ builds }, input) {
    checkBuilds(builds);
    checkBuild(input);
  },
  async run(tx, { sourceId, target, git, settings, ...input }) {
    await tx.db.query('select from users where id = $1 for no key update', [tx.actor.userId]); // as queueBuild, and first
    const { rows } = await tx.db.query<GitTarget & { sighting: number; endpointId: EndpointId }>(
      `update git_sources set sightings = sightings + 1 where id = $1
       returning url, branch, tags, folder, build, apply_settings as "applySettings", sightings as sighting, endpoint_id as "endpointId"`,
      [sourceId],
    );
    if (!rows[0]) return null;
    const { sighting, endpointId, ...now } = rows[0];
    if (!isDeepStrictEqual(now, target)) return null;
    if (settings !== null) await checkSettings(tx, await getEndpointRow(tx.db, tx.actor.userId, endpointId), settings);
    const origin = { source: 'GIT', git, gitSourceId: sourceId, sighting, settings } as const;
    return queueBuild(tx, { ...input, origin, retryOf: null });
  },
  subject: ({ sourceId }, build) => build?.id ?? sourceId,
  isAudited: (_, build) => build !== null,
};

/** A finished build whose image its endpoint is to take. */
export interface Deployable {
  id: BuildId;
  userId: UserId;
  /** Null: the source was disconnected. */
  gitSourceId: GitSourceId | null;
}

/** Returns them in the order in which they were made. Served by builds_to_deploy. */
export async function listDeployable(db: Db): Promise<Deployable[]> {
  const { rows } = await db.query<Deployable>({
    name: 'builds-to-deploy',
    text: `select id, user_id as "userId", git_source_id as "gitSourceId" from builds
           where deployment = 'PENDING' and status = 'COMPLETED' order by number limit 100`,
  });
  return rows;
}

interface Row {
  settings: GitSettings | null;
  image: string | null;
  git: GitCommit;
  sighting: number;
  endpointId: EndpointId | null;
  deployedSighting: number | null;
}

const READ = `
  select b.image, b.git, b.settings, b.sighting, s.endpoint_id as "endpointId", s.deployed_sighting as "deployedSighting"
  from builds b left join git_sources s on s.id = b.git_source_id
  where b.id = $1 and b.user_id = $2 and b.deployment = 'PENDING' and b.status = 'COMPLETED'`;

/**
 * Has the endpoint of a build's source take its image and settings, as a PATCH would, unless a later commit's is there, its source was
 * disconnected, or the image is gone. Resolves with the endpoint if it took it. Throws what a PATCH would.
 */
export const deployBuild: Operation<Tx, { id: BuildId }, Endpoint | null> = {
  name: 'endpoint.deploy-build',
  permission: () => PERMISSIONS.writeBuild({}),
  async run({ db, actor, bus, saw }, { id }) {
    const read = async () => (await db.query<Row>(READ, [id, actor.userId])).rows[0];
    const first = await read();
    if (!first) return null;
    const before = first.endpointId && (await getEndpointRow(db, actor.userId, first.endpointId, 'for update'));
    const build = await read(); // again: releases of an endpoint are made one after the other
    if (!build) return null;
    const { image, git, settings, sighting, deployedSighting } = build;
    if (!before || image === null || deployedSighting === null || sighting < deployedSighting) {
      await endDeployment(db, id, 'DROPPED');
      return null;
    }
    await endDeployment(db, id, 'DEPLOYED');
    await db.query('update git_sources set deployed_sighting = $2 where endpoint_id = $1', [before.id, sighting]);
    const change = { ...settings?.change, image };
    const after = mergeChange(before, change);
    const diff = diffReleases(before, after);
    if (diff.length === 0) return before;
    await checkReferences(db, actor, before, change);
    publishEndpoint(bus, before.id);
    if (settings?.schedule) await setFloorSchedule(db, before.id, settings.schedule);
    const changes = [await commitChange(db, before.image, git), ...diff];
    const endpoint = { ...after, version: before.version + 1 };
    const written = await writeRelease(db, { endpoint, createdBy: actor.userId, diff: changes, image: null });
    saw({ recordId: written.id, recordName: written.name, before, after: written });
    return written;
  },
  subject: ({ id }) => id,
  seesItsChange: true,
  isAudited: (_, endpoint) => endpoint !== null,
};

/** Throws what a PATCH would. */
async function checkSettings({ db, actor }: Tx, before: Endpoint, { change, schedule }: GitSettings): Promise<void> {
  mergeChange(before, change);
  await checkReferences(db, actor, before, change);
  await checkSecrets(db, actor, actor.userId, secretNamesIn(change.env ?? {}));
  if (schedule) checkFloorSchedule(schedule);
}

/** Gives up the deployment of a build, if it is still to be. */
export async function endDeployment(db: Db, id: BuildId, how: 'DEPLOYED' | 'DROPPED'): Promise<void> {
  await db.query("update builds set deployment = $2 where id = $1 and deployment = 'PENDING'", [id, how]);
}

/** Says on the release which commit it is, and which one was before. */
async function commitChange(db: Db, imageBefore: string, git: GitCommit): Promise<ReleaseChange> {
  const { rows } = await db.query<{ git: GitCommit | null }>('select git from builds where id = $1', [
    buildIdOf(imageBefore),
  ]);
  const was = rows[0]?.git ?? null;
  return { field: 'commit', old: was && commitText(was), new: commitText(git) };
}

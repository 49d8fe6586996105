import { Readable } from 'node:stream';
import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import { FairSlots } from '../../core/flow/fair-slots.ts';
import type { BuildId, EndpointId } from '../../core/ids.ts';
import type { Build, FolderEntry } from '../../domain/builds/build.ts';
import { findMissingFiles, findPartialFiles, storeFile, storePack } from '../../domain/builds/build-files.ts';
import { findBuildName, getBuild, listBuilds } from '../../domain/builds/build-store.ts';
import { cancelBuild, createBuild, type NewBuild, retryBuild } from '../../domain/builds/change-build.ts';
import { MAX_FILE_BYTES, MAX_FOLDER_ENTRIES } from '../../domain/builds/check-folder.ts';
import { change } from '../../domain/change.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { BYTES, noContent, ref } from '../shared/schema.ts';
import {
  BuildFileParams,
  BuildListQuery,
  BuildPage,
  BuildParams,
  BuildResponse,
  CreateBuildRequest,
  MissingFiles,
  MissingFilesRequest,
} from './build-schemas.ts';
import { MAX_PACK_BODY, readAtMost, readPack } from './read-pack.ts';
import { rangeOf } from './read-range.ts';

const DEFAULT_LIMIT = 50;
/** Enough for the description of the largest folder. */
const LARGE_BODY = { bodyLimit: 8 * 2 ** 20, maxBodyValues: 8 * MAX_FOLDER_ENTRIES };
/** Files that are received at once; the others stay unread. Each takes 1 MiB of memory. */
const UPLOADS = { slots: 32, perOwner: 4 };
/** After how many bytes of a body the disk is looked at. */
const LOOK_BYTES = 2 ** 20;
/** Each takes up to 5 MiB of memory, twice. */
const PACKS = { slots: 4, perOwner: 1 };

export const buildRoutes: RestRoute = (app, deps) => {
  const { pool, builds } = deps;
  const fileSlots = new FairSlots(UPLOADS);
  const packSlots = new FairSlots(PACKS);

  app.post('/v2/builds/missing-files', {
    bodyLimit: LARGE_BODY.bodyLimit,
    schema: {
      operationId: 'findMissingFiles',
      summary: 'Find the files that have to be sent for a build',
      description:
        'Podyard only. Files that were sent before, by the same user, are kept for 7 days after their last use, and need not be sent again.',
      tags: ['podyard'],
      body: ref(MissingFilesRequest),
      response: { 200: ref(MissingFiles) },
    },
    config: { permission: PERMISSIONS.writeBuild, maxBodyValues: LARGE_BODY.maxBodyValues },
    handler: async ({ actor, body: { files } }) => {
      const missing = await findMissingFiles(pool, actor.userId, files);
      return { missing, partial: await findPartialFiles(pool, actor.userId, files, missing) };
    },
  });

  app.put('/v2/builds/files/:digest', {
    bodyLimit: MAX_FILE_BYTES,
    schema: {
      operationId: 'storeBuildFile',
      summary: 'Send a file for builds',
      description:
        'Podyard only. The body is the content, with its `Content-Length`, 512 MiB at most. With `Content-Range: bytes <start>-<end>/<size>` it is the rest of a file whose upload was cut; 409 if `start` is not where that ended. Sending a file again changes nothing. 422 if the content has another digest.',
      tags: ['podyard'],
      params: BuildFileParams,
      body: { content: { 'application/octet-stream': { schema: BYTES } } },
      response: { 204: noContent('Stored.') },
    },
    config: { permission: () => PERMISSIONS.writeBuild({}), failures: ['conflict'], takesBytes: true },
    handler: async ({ actor, params, headers, body }, reply) => {
      if (!(body instanceof Readable)) throw new Failure('unsupportedMediaType', 'The request body must be bytes.');
      const { start, size } = rangeOf(headers);
      if (size > MAX_FILE_BYTES) {
        throw new Failure(
          'contentTooLarge',
          `A file may have ${MAX_FILE_BYTES} bytes (512 MiB); this one has ${size}.`,
        );
      }
      const file = { digest: params.digest, size };
      await fileSlots.run(actor.userId, () =>
        storeFile(pool, actor.userId, file, whileThereIsRoom(body, builds), start),
      );
      return reply.code(204).send();
    },
  });

  app.post('/v2/builds/files', {
    bodyLimit: MAX_PACK_BODY,
    schema: {
      operationId: 'storeBuildFiles',
      summary: 'Send small files for builds together',
      description:
        'Podyard only. The body is a line of JSON, an array of `digest` and `size`, and then the contents in that order: 1,000 files at most, of 256 KiB each and 4 MiB together. All are stored, or none. 422 if one has another digest.',
      tags: ['podyard'],
      body: { content: { 'application/octet-stream': { schema: BYTES } } },
      response: { 204: noContent('Stored.') },
    },
    config: { permission: () => PERMISSIONS.writeBuild({}), takesBytes: true },
    handler: async ({ actor, body }, reply) => {
      if (!(body instanceof Readable)) throw new Failure('unsupportedMediaType', 'The request body must be bytes.');
      await packSlots.run(actor.userId, async () => {
        const { files, content } = readPack(await readAtMost(whileThereIsRoom(body, builds), MAX_PACK_BODY));
        await storePack(pool, actor.userId, files, content);
      });
      return reply.code(204).send();
    },
  });

  app.post('/v2/builds', {
    bodyLimit: LARGE_BODY.bodyLimit,
    schema: {
      operationId: 'createBuild',
      summary: 'Build an image',
      description:
        'Podyard only. Queues a build of a folder whose files were sent. 409 if some were not: `errors` lists their digests. 403 where the server builds nothing.',
      tags: ['podyard'],
      body: ref(CreateBuildRequest),
      response: { 201: ref(BuildResponse) },
    },
    config: {
      permission: () => PERMISSIONS.writeBuild({}),
      failures: ['conflict'],
      maxBodyValues: LARGE_BODY.maxBodyValues,
    },
    handler: async ({ actor, body }, reply) => {
      const build = await change(deps, actor, createBuild, toNewBuild(body));
      return reply.code(201).send(toBuildResponse(build));
    },
  });

  app.get('/v2/builds', {
    schema: {
      operationId: 'listAllBuilds',
      summary: 'List builds',
      description: 'Podyard only. The builds of the account, newest first.',
      tags: ['podyard'],
      querystring: BuildListQuery,
      response: { 200: ref(BuildPage) },
    },
    config: { permission: () => PERMISSIONS.readBuild({}), failures: ['unprocessable'] },
    handler: async ({ actor, query }) => {
      const { cursor, limit = DEFAULT_LIMIT, ...filter } = query;
      const before = cursor === undefined ? undefined : Number(cursor);
      const { endpointId } = filter;
      const triedName = endpointId === undefined ? undefined : await findBuildName(pool, actor.userId, endpointId);
      const { builds, next } = await listBuilds(pool, actor.userId, { ...filter, triedName, limit, before });
      return { builds: builds.map(toBuildResponse), nextCursor: next === null ? null : String(next) };
    },
  });

  app.get('/v2/builds/:id', {
    schema: {
      operationId: 'getAnyBuild',
      summary: 'Get a build',
      description: 'Podyard only.',
      tags: ['podyard'],
      params: BuildParams,
      response: { 200: ref(BuildResponse) },
    },
    config: { permission: PERMISSIONS.readBuild, failures: ['notFound'] },
    handler: async ({ actor, params }) => toBuildResponse(await getBuild(pool, actor.userId, params.id as BuildId)),
  });

  app.post('/v2/builds/:id/cancel', {
    schema: {
      operationId: 'cancelBuild',
      summary: 'Cancel a build',
      description: 'Podyard only. One that runs is ended soon. 409 if it has ended.',
      tags: ['podyard'],
      params: BuildParams,
      response: { 200: ref(BuildResponse) },
    },
    config: { permission: PERMISSIONS.writeBuild, failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params }) =>
      toBuildResponse(await change(deps, actor, cancelBuild, { id: params.id as BuildId })),
  });

  app.post('/v2/builds/:id/retry', {
    schema: {
      operationId: 'retryBuild',
      summary: 'Build the same folder again',
      description:
        'Podyard only. Queues a new build. 409 while the former has not ended, and if files of the folder are not kept any more.',
      tags: ['podyard'],
      params: BuildParams,
      response: { 201: ref(BuildResponse) },
    },
    config: { permission: PERMISSIONS.writeBuild, failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params }, reply) => {
      const build = await change(deps, actor, retryBuild, { id: params.id as BuildId });
      return reply.code(201).send(toBuildResponse(build));
    },
  });
};

/** Yields a body. Throws `unavailable` where the disk of the database gets scarce: it must not be full for others. */
async function* whileThereIsRoom(
  body: AsyncIterable<Buffer>,
  { findScarceDisk }: Pick<RouteDeps['builds'], 'findScarceDisk'>,
): AsyncGenerator<Buffer> {
  let unchecked = LOOK_BYTES;
  for await (const piece of body) {
    unchecked += piece.length;
    if (unchecked > LOOK_BYTES) {
      unchecked = 0;
      const scarce = await findScarceDisk();
      if (scarce !== null) throw new Failure('unavailable', scarce);
    }
    yield piece;
  }
}

/** Throws `unprocessable` for an entry that lacks a member, which the schema cannot say briefly. */
function toNewBuild(body: Static<typeof CreateBuildRequest>): NewBuild {
  const { files, args = {}, secrets = {}, registries = {}, usesCache = true, endpointId, ...input } = body;
  const errors: string[] = [];
  const entries = files.map((file, i): FolderEntry => {
    const { path, digest, size, mode, link } = file;
    if (link !== undefined) return { path, link };
    if (size === undefined || mode === undefined) errors.push(`/files/${i}: must have size and mode`);
    return { path, digest: digest!, size: size!, mode: mode! };
  });
  if (errors.length > 0) throw validationFailure(errors);
  return { ...input, args, secrets, registries, usesCache, entries, meantFor: endpointId as EndpointId | undefined };
}

export function toBuildResponse({ userId: _, source, git, ...build }: Build): Static<typeof BuildResponse> {
  return {
    ...build,
    source: { type: source, ...git },
    steps: build.steps.map((step) => ({
      ...step,
      startedAt: step.startedAt.toISOString(),
      endedAt: step.endedAt?.toISOString() ?? null,
    })),
    createdAt: build.createdAt.toISOString(),
    startedAt: build.startedAt?.toISOString() ?? null,
    endedAt: build.endedAt?.toISOString() ?? null,
  };
}

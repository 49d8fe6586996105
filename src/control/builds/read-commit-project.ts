import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Db } from '../../db/pool.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import type { GitBuildOptions, GitSettings } from '../../domain/git-sources/git-source.ts';
import { type ProjectFields, parseProject } from '../../domain/projects/parse-project.ts';
import { PROJECT_FILES } from '../../domain/projects/project-files.ts';
import { listRegistryRows } from '../../domain/registries/registry-store.ts';
import type { FloorSchedule } from '../../domain/scheduled-floors/scheduled-floors.ts';
import { listVolumeRows } from '../../domain/volumes/volume-store.ts';

/** An endpoint as podyard.yaml of a commit has it. */
interface CommitProject extends ProjectFields {
  type?: Endpoint['type'];
  build?: GitBuildOptions;
  schedule?: FloorSchedule;
  volumes?: string[];
  registry?: string | null;
  /** Set by `podyard models set` and `podyard deploy` alone: what they stand for has to be asked for. */
  models?: unknown[];
}

/** Maps fields of REST, which are those of podyard.yaml, to a change of an endpoint. */
export type ReadFields = (fields: object, before: Endpoint) => EndpointChange;

/**
 * Returns what podyard.yaml of a folder says of an endpoint: of the build, and of the rest. Null if there is none. Throws
 * `unprocessable` with the line of each fault, and with what an endpoint of a repository cannot be.
 */
export async function readCommitProject(
  db: Db,
  root: string,
  { userId, endpoint, readFields }: { userId: UserId; endpoint: Endpoint; readFields: ReadFields },
): Promise<{ build: GitBuildOptions; settings: GitSettings } | null> {
  const found = await findFile(root);
  if (found === null) return null;
  const { file, text } = found;
  const endpoints = await parseProject<CommitProject>(file, text).catch((error: unknown) => {
    throw error instanceof UsageError ? new Failure('unprocessable', error.message) : error;
  });
  const [first] = endpoints;
  const own = endpoints.length === 1 ? first : endpoints.find(({ name }) => name === endpoint.name);
  if (!own) throw new Failure('unprocessable', `${file} has no endpoint '${endpoint.name}'.`);
  const {
    name: _,
    type,
    image,
    build = {},
    schedule = null,
    volumes,
    registry,
    env,
    secrets,
    models: __,
    ...fields
  } = own;
  if (type !== undefined && type !== endpoint.type)
    throw new Failure(
      'unprocessable',
      `${file} wants ${type}, and ${endpoint.name} is ${endpoint.type}, which is fixed.`,
    );
  if (image !== undefined)
    throw new Failure(
      'unprocessable',
      `${file} names an image, and that of ${endpoint.name} is built from the repository.`,
    );
  const references = Object.entries(secrets ?? {}).map(([key, secret]) => [key, `{{ RUNPOD_SECRET_${secret} }}`]);
  const hasEnv = env !== undefined || secrets !== undefined;
  const registries = await idsOf(db, userId, 'registry', Object.values(build.registries ?? {}));
  const wanted = {
    ...fields,
    ...(hasEnv && { env: { ...env, ...Object.fromEntries(references) } }),
    ...(registry !== undefined && {
      registry: registry === null ? null : (await idsOf(db, userId, 'registry', [registry]))[0],
    }),
    ...(volumes && { networkVolumes: await idsOf(db, userId, 'volume', volumes) }),
  };
  const hosts = Object.keys(build.registries ?? {});
  return {
    build: {
      ...build,
      ...(build.registries && { registries: Object.fromEntries(hosts.map((host, i) => [host, registries[i]!])) }),
    },
    settings: { change: readFields(wanted, endpoint), schedule },
  };
}

/** A link could lead out of the repository, and errors quote the file. */
async function findFile(root: string): Promise<{ file: string; text: string } | null> {
  const isThere = (file: string) =>
    lstat(join(root, file)).then(
      (found) => found,
      () => null,
    );
  const found = await Promise.all(PROJECT_FILES.map(isThere));
  if (found.every((one) => one !== null))
    throw new Failure('unprocessable', `${PROJECT_FILES.join(' and ')} are both there: keep one.`);
  const at = found.findIndex((one) => one !== null);
  const file = PROJECT_FILES[at];
  if (file === undefined) return null;
  if (!found[at]!.isFile()) throw new Failure('unprocessable', `${file} is not a file.`);
  return { file, text: await readFile(join(root, file), 'utf8') };
}

/** Returns the ids of a user's records, named by name or id. */
async function idsOf(db: Db, userId: UserId, kind: 'registry' | 'volume', given: readonly string[]): Promise<string[]> {
  if (given.length === 0) return [];
  const known = kind === 'registry' ? await listRegistryRows(db, userId) : await listVolumeRows(db, userId);
  return given.map((text) => {
    const found = known.find(({ id }) => id === text) ?? known.find(({ name }) => name === text);
    if (!found) throw new Failure('unprocessable', `podyard.yaml: there is no ${kind} '${text}'.`);
    return found.id;
  });
}

import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { OWN_PACKAGE } from '../../../core/files/own-package.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { contentHashOf } from '../../../domain/builds/content-hash.ts';
import { startCommand } from '../../../domain/builds/dockerfile-of.ts';
import type { Recipe } from '../../../domain/builds/recipe.ts';
import { build, findBuilt } from '../../deploy/deploy.ts';
import { type EndpointBody, planCreate, toBody } from '../../deploy/plan-deploy.ts';
import { readFolder, type Source } from '../../deploy/read-folder.ts';
import { readProject } from '../../deploy/read-project.ts';
import { createEndpoint } from '../../endpoints/write-endpoint.ts';
import { resolveNames } from '../../records/find-record.ts';
import { type Endpoint, RECORDS } from '../../records/kinds.ts';
import { type ApiClient, ApiRefusal } from '../../shared/api-client.ts';
import type { CommandOutput } from '../../shared/cli-pieces.ts';
import { chooseEndpoint } from '../dev-folder.ts';
import type { DevOptions } from '../dev-options.ts';

const SUPERVISOR = new URL('workers/dev/run-remote.sh', OWN_PACKAGE);
/** How long the server keeps the endpoint of a command that says nothing any more. */
export const LEASE_SECONDS = 60;

/** The plan of a folder's development endpoint. */
export interface RemotePlan {
  name: string;
  /** Without its image. */
  body: EndpointBody;
  /** The image: the dependencies alone. It changes with the lock files, and not with the code. */
  source: Source;
  entries: Awaited<ReturnType<typeof readFolder>>['entries'];
}

/** Reads the folder. Throws a `UsageError` for one whose code cannot be run as it is. */
export async function planRemote(
  client: ApiClient,
  root: string,
  { name: chosen, endpoint: given, pool }: DevOptions,
  output: CommandOutput,
): Promise<RemotePlan> {
  const project = chooseEndpoint(await readProject(root), chosen);
  if (project.image !== undefined)
    throw new UsageError('podyard.yaml names an image, and --remote serves the code of a folder');
  const name = given ?? `${project.name ?? basename(root)}-dev`;
  const { entries, sources } = await readFolder(root, [{ ...project, name }], { cache: true }, output);
  const whole = sources[0]!;
  const source = dependenciesOf(whole);
  const { registry, volumes } = project;
  const resolved = await resolveNames(client, {
    ...(registry !== undefined && { registry }),
    ...(volumes && { networkVolumes: volumes }),
  });
  const { gpu, cpu, ...rest } = project;
  const hardware = pool === undefined ? { ...(gpu && { gpu }), ...(cpu && { cpu }) } : { gpu: { pools: pool } };
  const wanted = { ...rest, ...hardware, ...(resolved.registry !== undefined && { registry: resolved.registry }) };
  const body = {
    ...toBody(wanted, name, resolved.networkVolumes),
    workers: { min: 1, max: 1 },
    args: await argsOf(whole, project.type === 'LOAD_BALANCING'),
  };
  return { name, body: planCreate(body, undefined, { image: null, how: '' }).body, source, entries };
}

/** An own Dockerfile may put the code anywhere, and a build command makes other code of it. */
function dependenciesOf({ recipe, body }: Source): Source {
  if (recipe.dockerfile !== null)
    throw new UsageError(
      '--remote runs the code as it is, and a Dockerfile may put it anywhere: name the image to begin with as `build.base` in podyard.yaml, and leave the Dockerfile out with .dockerignore',
    );
  if (recipe.buildCommand !== null)
    throw new UsageError(
      `--remote runs the code as it is, without \`${recipe.buildCommand.join(' ')}\`: name a file that runs without it as \`build.handler\` in podyard.yaml`,
    );
  const own: Recipe = { ...recipe, entry: { kind: 'program', command: ['true'] } }; // the code comes later
  const files = body.files.filter(({ path }) => recipe.lockFiles.includes(path));
  const { args = {}, secrets = {} } = body;
  const entries = files as Parameters<typeof contentHashOf>[0]['entries'];
  return {
    recipe: own,
    body: { ...body, recipe: own, files },
    contentHash: contentHashOf({ entries, recipe: own, args, secrets }),
  };
}

async function argsOf({ recipe }: Source, hasPort: boolean): Promise<string> {
  const supervisor = await readFile(SUPERVISOR, 'utf8');
  const mode = hasPort ? 'in-turn' : 'overlap';
  return JSON.stringify({ entrypoint: ['sh', '-c', supervisor, 'podyard', mode, ...startCommand(recipe)], cmd: [] });
}

/** Returns the image of the dependencies: one that is there, or a new one. */
export async function buildRemote(
  client: ApiClient,
  root: string,
  { source, entries }: RemotePlan,
  output: CommandOutput,
): Promise<string> {
  return (await findBuilt(client, source)) ?? build(client, root, entries, source, output);
}

/**
 * Creates the endpoint, which the server deletes when its lease is not renewed. One of the same name that a killed command has left is
 * deleted; one that stays is not: throws a `UsageError`.
 */
export async function createRemote(client: ApiClient, { name, body }: RemotePlan, image: string): Promise<Endpoint> {
  for (const { id } of (await RECORDS.endpoints.list(client)).filter((one) => one.name === name)) {
    if (!(await renew(client, id)))
      throw new UsageError(
        `the endpoint ${name} (${id}) exists, and \`podyard dev\` has not made it: choose --endpoint`,
      );
    await remove(client, id);
  }
  return createEndpoint(client, { ...body, image }, { leaseSeconds: LEASE_SECONDS });
}

/** Resolves with false for an endpoint without a lease. */
export async function renew(client: ApiClient, id: string): Promise<boolean> {
  try {
    await client.call('put', '/v2/serverless/{id}/lease', { path: { id }, body: { seconds: LEASE_SECONDS } });
    return true;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 409) return false;
    throw error;
  }
}

/** Nothing happens if it is gone. */
export async function remove(client: ApiClient, id: string): Promise<void> {
  await RECORDS.endpoints.delete(client, id).catch((error) => {
    if (!(error instanceof ApiRefusal && error.status === 404)) throw error;
  });
}

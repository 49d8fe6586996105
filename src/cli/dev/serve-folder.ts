import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../../core/files/make-folder.ts';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import { buildNameOf } from '../../domain/builds/build-image.ts';
import { ApiClient, type Target } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { type DevFolder, readDevFolder } from './dev-folder.ts';
import { printLog } from './dev-log.ts';
import type { DevOptions } from './dev-options.ts';
import { openDevPage } from './dev-page.ts';

const ENDPOINTS = '/2026-08/v2/serverless';
const SECRETS = '/v2/account/secrets';
const RUN_AGAIN = fileURLToPath(new URL('workers/dev/run-again.js', OWN_PACKAGE));
/** How long a worker gets to end its job when the command ends. */
const END_MS = 10_000;

/**
 * Serves a folder with a server of its own, on this machine, until Ctrl-C: one worker runs its handler and takes jobs, and runs the
 * new code after each change. What it logs is printed. The server's data stays in the user's cache; no worker stays.
 */
export async function serveFolder(path: string, options: DevOptions, pieces: CliPieces): Promise<void> {
  const { env } = pieces.terminal;
  const folder = await readDevFolder(resolve(path), options);
  const dataDir = dataDirOf(folder.path, env);
  await makeFolder(dataDir, 0o700);
  const flags = { dataDir, port: String(options.port), host: '127.0.0.1', runtime: 'process' };
  await pieces.withServer(flags, async (target) => {
    await writeImage(dataDir, folder);
    const client = new ApiClient(target, pieces.terminal);
    await removeEndpoints(client); // of a session that was killed
    const id = await createEndpoint(client, folder);
    const page = await openDevPage(target, { id, name: folder.name, type: folder.type });
    try {
      for (const name of folder.missing) pieces.note(`! ${name} is a secret: give it a value in .env or --env-file.`);
      pieces.print(welcome(target, { id, page: page.url }, folder));
      await printLog(client, id, pieces);
    } finally {
      page.close();
      const last = new ApiClient(target, { interrupted: AbortSignal.timeout(END_MS), env }); // after Ctrl-C
      await removeEndpoints(last);
    }
  });
}

/** One for each folder, so that jobs and their results are still there the next day. */
function dataDirOf(folder: string, env: Readonly<Record<string, string | undefined>>): string {
  const cache = env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache');
  return join(cache, 'podyard', 'dev', createHash('sha256').update(folder).digest('hex').slice(0, 16));
}

const imageOf = ({ name }: DevFolder) => `podyard-dev/${buildNameOf(name)}`;

/** The image is a program that runs the folder as it is now, and as it will be. */
async function writeImage(dataDir: string, folder: DevFolder): Promise<void> {
  const directory = join(dataDir, 'image');
  await mkdir(directory, { recursive: true });
  const options = [...(folder.type === 'LOAD_BALANCING' ? ['--in-turn'] : []), ...(folder.hasSpare ? ['--spare'] : [])];
  const command = [process.execPath, RUN_AGAIN, folder.path, '--of', String(process.pid), ...options, '--'];
  const images = { [imageOf(folder)]: { command: [...command, ...folder.command], directory } };
  const file = join(dataDir, 'images.json');
  await writeFile(`${file}.new`, JSON.stringify(images));
  await rename(`${file}.new`, file);
}

async function createEndpoint(client: ApiClient, folder: DevFolder): Promise<string> {
  await writeSecrets(client, folder.secrets);
  const { name, type, ports, env } = folder;
  const scaling = { type: 'REQUEST_COUNT', requestCount: 1_000 };
  const made = await client.json<{ id: string }>('POST', ENDPOINTS, {
    ...{ name, type, image: imageOf(folder), env, scaling, workers: { min: 1, max: 1 } },
    ...{ cpu: [{ id: 'cpu3c', vcpuCount: 2 }], ...(ports.length > 0 && { ports }) },
  });
  return made.id;
}

async function writeSecrets(client: ApiClient, secrets: DevFolder['secrets']): Promise<void> {
  const { secrets: known } = await client.json<{ secrets: { id: string; name: string }[] }>('GET', SECRETS);
  for (const { id } of known) await client.json('DELETE', `${SECRETS}/${id}`);
  for (const [name, value] of Object.entries(secrets)) await client.json('POST', SECRETS, { name, value });
}

async function removeEndpoints(client: ApiClient): Promise<void> {
  const { endpoints } = await client.json<{ endpoints: { id: string }[] }>('GET', ENDPOINTS);
  for (const { id } of endpoints) await client.json('DELETE', `${ENDPOINTS}/${id}`);
}

function welcome(
  { url, key }: Target,
  { id, page }: { id: string; page: string },
  { name, type, path }: DevFolder,
): string {
  const call =
    type === 'LOAD_BALANCING'
      ? `  curl ${url}/v2/${id}/lb/ -H 'Authorization: Bearer ${key}'`
      : `  PODYARD_URL=${url} PODYARD_API_KEY=${key} podyard run ${name} '{"name": "you"}'

  curl -X POST ${url}/v2/${id}/runsync -H 'Authorization: Bearer ${key}' \\
    -H 'Content-Type: application/json' -d '{"input": {"name": "you"}}'`;
  return `
${path} is served as ${name}; save a file, and the new code runs. In another terminal:

${call}

Page to send jobs from: ${page}
Console: ${url}/#/endpoints/${id} (sign in with ${key}). Ctrl-C ends it.
`;
}

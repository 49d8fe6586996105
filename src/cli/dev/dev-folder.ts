import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { fileReason } from '../../core/files/file-reason.ts';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import { UsageError } from '../../core/usage-error.ts';
import { nodeFlags } from '../../domain/builds/dockerfile-of.ts';
import type { Recipe } from '../../domain/builds/recipe.ts';
import { type FoundFile, scanFolder } from '../../domain/builds/scan-folder.ts';
import { secretNamesIn } from '../../domain/secrets/secret-references.ts';
import { findRecipe } from '../deploy/read-folder.ts';
import { type ProjectEndpoint, readProject } from '../deploy/read-project.ts';
import type { DevOptions } from './dev-options.ts';

/** A folder as `podyard dev` serves it. */
export interface DevFolder {
  path: string;
  name: string;
  type: 'QUEUE' | 'LOAD_BALANCING';
  ports: string[];
  env: Record<string, string>;
  /** Values that `{{ RUNPOD_SECRET_name }}` in `env` stands for. */
  secrets: Record<string, string>;
  /** Starts the handler, in the folder. */
  command: string[];
  /** Whether `command` can be started before there is code for it: see workers/dev/run-again.js. */
  hasSpare: boolean;
  /** Variables that podyard.yaml takes from secrets, and that have no value in the file of variables. */
  missing: string[];
}

const KITS = fileURLToPath(new URL('workers/', OWN_PACKAGE));
const DEFAULT_PORT = '8000/http';

/** Reads what the folder serves, and how. Runs nothing of it. Throws a sentence that says what is missing, and where. */
export async function readDevFolder(path: string, options: Pick<DevOptions, 'envFile' | 'name'>): Promise<DevFolder> {
  const project = chooseEndpoint(await readProject(path), options.name);
  const given = await readVariables(path, options.envFile);
  const type = project.type === 'LOAD_BALANCING' ? project.type : 'QUEUE';
  const ports = project.ports ?? (type === 'LOAD_BALANCING' ? [DEFAULT_PORT] : []);
  const recipe = await detect(path, project);
  const { env, missing } = environment(project, given, type === 'LOAD_BALANCING' ? ports : []);
  return {
    ...{ path, name: project.name ?? basename(path), type, ports, env, missing },
    secrets: namedSecrets(env, given),
    command: commandOf(path, recipe),
    hasSpare: recipe.entry?.kind === 'handler',
  };
}

/** Throws a `UsageError` unless there is one of that name, or one alone. */
export function chooseEndpoint(endpoints: readonly ProjectEndpoint[], name: string | undefined): ProjectEndpoint {
  const names = endpoints.map((one) => one.name).join(', ');
  const chosen = name === undefined ? endpoints : endpoints.filter((one) => one.name === name);
  if (chosen.length === 1) return chosen[0]!;
  if (chosen.length === 0)
    throw new UsageError(`podyard.yaml has no endpoint '${name}', but: ${names || 'one without a name'}`);
  throw new UsageError(`podyard.yaml has several endpoints: choose one with --name (${names})`);
}

/** A Dockerfile says how an image is made; here the code is run as it is. */
async function detect(path: string, endpoint: ProjectEndpoint): Promise<Recipe> {
  const { dockerfile = 'Dockerfile', target: _, ...build } = endpoint.build ?? {};
  const scan = await scanFolder(path, { withInstalled: false });
  const isCode = (file: FoundFile) => ![dockerfile, 'Dockerfile', 'Containerfile'].includes(file.path);
  return findRecipe(path, { ...scan, files: scan.files.filter(isCode) }, { ...endpoint, build });
}

async function readVariables(path: string, file: string | undefined): Promise<Record<string, string>> {
  const text = await readFile(file === undefined ? join(path, '.env') : resolve(file), 'utf8').catch((error) => {
    if (file === undefined && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return '';
    throw new UsageError(`${file ?? '.env'} cannot be read: ${fileReason(error)}`);
  });
  return parseEnv(text) as Record<string, string>;
}

/** Returns a worker's environment: the endpoint's own variables, those of the file, and secrets by the values in the file. */
function environment(
  { env = {}, secrets = {} }: ProjectEndpoint,
  given: Record<string, string>,
  ports: readonly string[],
): Pick<DevFolder, 'env' | 'missing'> {
  const opened = Object.entries(secrets).map(([name, secret]) => [name, given[name] ?? given[secret]] as const);
  const [port] = ports;
  return {
    env: {
      ...(port !== undefined && { PORT: port.split('/', 1)[0]! }),
      ...env,
      ...given,
      ...Object.fromEntries(opened.filter((entry): entry is [string, string] => entry[1] !== undefined)),
    },
    missing: opened.flatMap(([name, value]) => (value === undefined ? [name] : [])),
  };
}

function namedSecrets(env: Record<string, string>, given: Record<string, string>): Record<string, string> {
  const names = secretNamesIn(env);
  return Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
}

/** Uses what is installed in the folder, as the same command in a terminal there would. */
function commandOf(path: string, { language, entry }: Recipe): string[] {
  if (entry === null) throw new Error('a recipe without a Dockerfile has an entry');
  const venv = ['.venv', 'venv'].map((name) => join(path, name, 'bin')).find((bin) => existsSync(join(bin, 'python')));
  if (entry.kind === 'program') {
    const bins = [...(venv ? [venv] : []), join(path, 'node_modules/.bin')].join(delimiter);
    const variables = `PATH="${bins}:$PATH" PYTHONPATH="${KITS}python" PYTHONUNBUFFERED=1`;
    return ['sh', '-c', `export ${variables}; exec "$@"`, 'podyard', ...entry.command];
  }
  if (language === 'python') {
    const python = venv ? join(venv, 'python') : 'python3';
    return [python, '-u', `${KITS}python/run_handler.py`, entry.file, entry.name];
  }
  return [process.execPath, ...nodeFlags(entry.file), `${KITS}javascript/run-handler.js`, entry.file, entry.name];
}

import { PROJECT_DEPENDENCIES, shellWord, startCommand, YARN_REGISTRY } from './dockerfile-of.ts';
import type { Recipe } from './recipe.ts';

interface BuildStep {
  /** For people, such as `Install dependencies (npm)`. */
  name: string;
  /** Runs in the folder, without a shell. */
  command: string[];
  /** Build secrets that it gets as variables of these names. */
  secretIds: string[];
}

export interface RecipeCommands {
  /** Run in this order. They write below `.podyard/` and `node_modules/` only, except for the recipe's `buildCommand`. */
  steps: BuildStep[];
  /** Starts a worker, in the folder or in one with links to what is in it. */
  serve: string[];
}

const VENV = '.podyard/venv';
const PYTHON = `${VENV}/bin/python`;

/**
 * Returns how a folder with kitFiles in it becomes an image without a container engine. The folder must not move afterwards:
 * a virtual environment has absolute paths. Throws for an own Dockerfile, which only an engine builds.
 */
export function commandsOf(recipe: Recipe, { hasUv }: { hasUv: boolean }): RecipeCommands {
  if (recipe.language === 'dockerfile') throw new Error('a Dockerfile is built by a container engine');
  const install = recipe.language === 'python' ? pythonSteps(recipe, hasUv) : [...installPackages(recipe), LINK_KIT];
  const build = recipe.buildCommand === null ? [] : [step(recipe.buildCommand.join(' '), recipe.buildCommand)];
  return { steps: [...install, ...build], serve: serveCommand(recipe) };
}

function step(name: string, command: string[], secretIds: string[] = []): BuildStep {
  return { name, command, secretIds };
}

/** A Python that uv downloads would be in the build's home, which goes when it ends. */
const OWN_PYTHON = '--no-python-downloads';

/** A program finds its dependencies and the kit as it does in an image. */
function serveCommand(recipe: Recipe): string[] {
  const command = startCommand(recipe, PYTHON);
  if (recipe.entry?.kind === 'handler') return command;
  const variables =
    recipe.language === 'python'
      ? `PATH="$PWD/${VENV}/bin:$PATH" PYTHONPATH="$PWD/.podyard/python\${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1`
      : `PATH="$PWD/node_modules/.bin:$PATH" NODE_ENV=production`;
  return ['sh', '-c', `export ${variables}; exec "$@"`, 'podyard', ...command];
}

function pythonSteps(recipe: Recipe, hasUv: boolean): BuildStep[] {
  const { installer, lockFiles, version, secretIds } = recipe;
  const python = `python${version ?? '3'}`;
  const create = hasUv
    ? ['uv', 'venv', '--quiet', OWN_PYTHON, '--python', version ?? '3', VENV]
    : [python, '-m', 'venv', ...(installer === null ? ['--without-pip'] : []), VENV];
  const steps = [step('Create the virtual environment', create)];
  if (installer === null) return steps;
  const name = `Install dependencies (${lockFiles[0]})`;
  if (installer === 'uv') {
    const sync = `sync ${OWN_PYTHON} --frozen --no-dev --no-install-project`;
    const command = hasUv
      ? `UV_PROJECT_ENVIRONMENT=${VENV} exec uv ${sync}`
      : `${PYTHON} -m pip install --quiet uv && UV_PROJECT_ENVIRONMENT=${VENV} exec ${PYTHON} -m uv ${sync} --inexact`;
    return [...steps, step(name, ['sh', '-c', command], secretIds)];
  }
  if (hasUv) {
    const command = ['uv', 'pip', 'install', '--python', PYTHON, '-r', lockFiles[0]!];
    return [...steps, step(name, command, secretIds)];
  }
  const file = lockFiles[0] === 'pyproject.toml' ? '.podyard/requirements.txt' : lockFiles[0]!;
  const list = lockFiles[0] === 'pyproject.toml' ? `${PYTHON} -c "${PROJECT_DEPENDENCIES}" > ${file} && ` : '';
  const command = `${list}exec ${PYTHON} -m pip install --disable-pip-version-check -r ${shellWord(file)}`;
  return [...steps, step(name, ['sh', '-c', command], secretIds)];
}

/** Yarn refuses the options of its first version in later ones, which put packages where Node.js alone does not look. */
const YARN = `command -v yarn > /dev/null || { echo "'yarn' is not installed on the server's machine" >&2; exit 127; }
${YARN_REGISTRY}
case "$(yarn --version)" in
  1.*) exec yarn install --frozen-lockfile "$1" ;;
  *) YARN_NODE_LINKER=node-modules exec yarn install --immutable ;;
esac`;

function installPackages({ installer, lockFiles, buildCommand, secretIds }: Recipe): BuildStep[] {
  if (installer === null) return [];
  const isAll = buildCommand !== null; // what builds the code is a development dependency
  const isLocked = lockFiles[0] !== 'package.json';
  const commands = {
    npm: [
      'npm',
      isLocked ? 'ci' : 'install',
      isAll ? '--include=dev' : '--omit=dev',
      '--no-audit',
      '--no-fund',
      ...(isLocked ? [] : ['--no-package-lock']),
    ],
    pnpm: ['pnpm', 'install', '--frozen-lockfile', isAll ? '--prod=false' : '--prod'],
    yarn: ['sh', '-c', YARN, 'sh', isAll ? '--production=false' : '--production'],
  };
  const command = commands[installer as keyof typeof commands];
  return [step(`Install dependencies (${lockFiles[0]})`, command, secretIds)];
}

/** For code that imports `podyard/worker` without having the package. */
const LINK_KIT = step('Add the worker kit', [
  'sh',
  '-c',
  '[ -e node_modules/podyard ] || { mkdir -p node_modules && cp -R .podyard/node_modules/podyard node_modules/podyard; }',
]);

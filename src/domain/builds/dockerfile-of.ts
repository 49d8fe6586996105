import type { Recipe } from './recipe.ts';

/** Where the code is in a generated image. */
const APP = '/app';
const DEFAULT_VERSIONS = { python: '3.12', javascript: '24' } as const;
const UID = 10001;

/**
 * Returns the Dockerfile of a recipe that has none of its own. Its context is the folder with kitFiles in it. The layer of the
 * dependencies depends only on `lockFiles`, the code comes last, and the image's user is not root.
 */
export function dockerfileOf(recipe: Recipe): string {
  const parts = [header(recipe), systemLayer(recipe), dependencyLayer(recipe), codeLayer(recipe)];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Returns the image that a generated Dockerfile begins with. */
function baseOf({ language, base, version }: Recipe): string {
  if (base !== null) return base;
  return language === 'python'
    ? `python:${version ?? DEFAULT_VERSIONS.python}-slim`
    : `node:${version ?? DEFAULT_VERSIONS.javascript}-slim`;
}

function header(recipe: Recipe): string {
  return `FROM ${baseOf(recipe)}`;
}

function systemLayer({ systemPackages, language, base }: Recipe): string {
  const lines = [
    `RUN echo 'app:x:${UID}:${UID}::/home/app:/bin/sh' >> /etc/passwd && mkdir -p /home/app ${APP} && chown ${UID}:${UID} /home/app ${APP}`,
  ];
  if (systemPackages.length > 0) lines.push(`RUN ${aptInstall(systemPackages)}`);
  if (language === 'python') {
    const python = `command -v python3 > /dev/null && python3 -c 'import ensurepip' || { ${aptInstall(['python3', 'python3-venv'])}; }`;
    if (base !== null) lines.push(`RUN ${python}`);
    lines.push(
      `RUN python3 -m venv --system-site-packages /opt/venv`,
      `ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONPATH=${APP}/.podyard/python`,
    );
  } else {
    lines.push(
      `RUN mkdir -p /node_modules && ln -s ${APP}/.podyard/node_modules/podyard /node_modules/podyard`,
      `ENV NODE_ENV=production PATH=${APP}/node_modules/.bin:$PATH`,
    );
  }
  return [...lines, `WORKDIR ${APP}`].join('\n');
}

function aptInstall(packages: readonly string[]): string {
  const names = packages.map(shellWord).join(' ');
  return `apt-get update && apt-get install -y --no-install-recommends ${names} && rm -rf /var/lib/apt/lists/*`;
}

function dependencyLayer(recipe: Recipe): string {
  const command = INSTALL(recipe);
  if (command === null) return '';
  const mounts = recipe.secretIds.map((id) => `--mount=type=secret,id=${id} `).join('');
  const secrets = recipe.secretIds.map((id) => `${id}="$(cat /run/secrets/${id})" && export ${id} && `).join('');
  return [...copies(recipe.lockFiles), `RUN ${mounts}${secrets}${command}`].join('\n');
}

/** One COPY per folder: a COPY of several folders would lose theirs. */
function copies(files: readonly string[]): string[] {
  const folders = Map.groupBy(files, (file) => file.slice(0, file.lastIndexOf('/') + 1));
  return [...folders].map(([folder, members]) => `COPY ${JSON.stringify([...members, `./${folder}`])}`);
}

function INSTALL({ installer, lockFiles, buildCommand }: Recipe): string | null {
  const has = (name: string) => lockFiles.includes(name);
  const isAll = buildCommand !== null; // what builds the code is a development dependency
  switch (installer) {
    case null:
      return null;
    case 'pip':
      return lockFiles[0] === 'pyproject.toml'
        ? `python -c "${PROJECT_DEPENDENCIES}" > /tmp/requirements.txt && pip install --no-cache-dir -r /tmp/requirements.txt && rm /tmp/requirements.txt`
        : `pip install --no-cache-dir -r ${shellWord(lockFiles[0]!)}`;
    case 'uv':
      return 'pip install --no-cache-dir uv && UV_PROJECT_ENVIRONMENT=/opt/venv uv sync --frozen --no-dev --no-install-project --inexact --no-cache';
    case 'npm':
      return `npm ${has('package-lock.json') || has('npm-shrinkwrap.json') ? 'ci' : 'install'} ${isAll ? '--include=dev' : '--omit=dev'} --no-audit --no-fund && npm cache clean --force`;
    case 'pnpm':
      return `npm install --global pnpm && pnpm install --frozen-lockfile ${isAll ? '--prod=false' : '--prod'}`;
    case 'yarn':
      return `${YARN_REGISTRY}corepack enable || npm install --global yarn; YARN_NODE_LINKER=node-modules yarn install --immutable || yarn install --frozen-lockfile ${isAll ? '--production=false' : '--production'}`;
  }
}

/** Gives Yarn's later versions, and Corepack, the registry of npm's variable, which they do not read; one over HTTP must be named, too. */
export const YARN_REGISTRY = [
  `registry="\${npm_config_registry:-$NPM_CONFIG_REGISTRY}"`,
  `host="\${registry#*://}"; host="\${host##*@}"; host="\${host%%[:/]*}"`,
  'case "$registry" in http:*) export YARN_UNSAFE_HTTP_WHITELIST="$host" ;; esac',
  'if [ -n "$registry" ]; then export YARN_NPM_REGISTRY_SERVER="$registry" COREPACK_NPM_REGISTRY="$registry"; fi; ',
].join('; ');

/** Prints the dependencies of pyproject.toml, one a line. Has no double quotes, for a shell. */
export const PROJECT_DEPENDENCIES =
  "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project'].get('dependencies', []), sep='\\n')";

function codeLayer(recipe: Recipe): string {
  const lines = [`COPY --chown=${UID}:${UID} . .`, `USER ${UID}:${UID}`];
  if (recipe.buildCommand !== null) lines.push(`RUN ${recipe.buildCommand.map(shellWord).join(' ')}`);
  return [...lines, `CMD ${JSON.stringify(startCommand(recipe))}`].join('\n');
}

/** Returns what starts the worker, in the folder of the code, with `python` and `node` as names on the PATH. */
export function startCommand({ language, entry }: Recipe, python = 'python'): string[] {
  if (entry === null) throw new Error('a recipe without a Dockerfile has an entry');
  if (entry.kind === 'program') return entry.command;
  if (language === 'python') return [python, '-u', '.podyard/python/run_handler.py', entry.file, entry.name];
  return ['node', ...nodeFlags(entry.file), '.podyard/node_modules/podyard/run-handler.js', entry.file, entry.name];
}

/** Flags with which Node.js runs a file as it is: one in TypeScript, and a module whose package.json does not say so. */
export function nodeFlags(file: string): string[] {
  const quiet = ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'];
  if (!/\.[cm]?ts$/.test(file)) return quiet;
  return [...quiet, '--experimental-transform-types', '--disable-warning=ExperimentalWarning'];
}

/** Quotes a word for a shell, if it needs that. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

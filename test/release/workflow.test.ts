/**
 * The commands of .github/workflows/release.yaml, as the forge would run them: in turn, with its variables, and with a registry, an
 * npm and a forge of this test in place of the public ones.
 */
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT, readReleaseFacts } from '../../release/release-facts.ts';
import { hasRegistryProgram, PrivateRegistry } from '../containers/private-registry.ts';
import { findHelm } from '../helm/helm-programs.ts';
import { builtArtifacts } from './built.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 600_000; // a large image is copied twice

interface Step {
  name?: string;
  uses?: string;
  run?: string;
  env?: Record<string, string>;
}

/**
 * `npm run release` makes the small parts, with the names and the key that the workflow gives it, and takes the large ones from those
 * that other tests have built. `npm publish` is npm's own.
 */
const NPM = `#!/bin/sh
case "$1 $2" in
  'run release')
    shift 3
    node release/main.ts --only notes,chart,compose,installer "$@"
    for file in "$BUILT"/podyard-[0-9]*.tgz "$BUILT"/podyard-*-oci.tar; do ln "$file" "$2" 2>/dev/null || cp "$file" "$2"; done ;;
  *) exec "$REAL_NPM" "$@" ;;
esac
`;
/** Installs nothing: the machine of the tests has skopeo. */
const SUDO = '#!/bin/sh\necho "$*" >>"$CALLS/sudo"\n';
/** The registry of the test speaks no TLS. */
const SKOPEO = `#!/bin/sh
case $1 in copy) flag=--dest-tls-verify=false ;; *) flag=--tls-verify=false ;; esac
command=$1
shift
exec "$REAL_SKOPEO" "$command" $flag "$@"
`;
const HELM = `#!/bin/sh
exec "$REAL_HELM" "$@" --plain-http
`;
const GH = '#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done >>"$CALLS/gh"\n';

let folder: string;
let registry: PrivateRegistry;
let npm: Server;
/** Paths and bodies of what npm was asked to publish. */
const published: { path: string; token: string | undefined; body: string }[] = [];
let steps: Step[];
let env: Record<string, string>;
let isPossible: boolean;

beforeAll(async () => {
  const { jobs } = parse(await readFile(`${ROOT}/.github/workflows/release.yaml`, 'utf8'));
  steps = jobs.release.steps;
  isPossible = hasRegistryProgram() && (await run('skopeo', ['--version']).then(Boolean, () => false));
  if (!isPossible && process.env.CI === 'true') throw new Error('skopeo or docker-registry is missing');
  if (!isPossible) return;
  folder = await mkdtemp(join(tmpdir(), 'podyard-workflow-'));
  registry = await PrivateRegistry.start();
  npm = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    if (request.method !== 'PUT') return void response.writeHead(404).end('{}');
    published.push({ path: request.url!, token: request.headers.authorization, body });
    response.writeHead(201, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(npm, 'listening');
  const npmHost = `127.0.0.1:${(npm.address() as AddressInfo).port}`;
  const { version } = readReleaseFacts();
  const [{ helm }, built, { stdout: own }] = await Promise.all([
    findHelm(),
    builtArtifacts(),
    run('sh', ['-c', 'command -v npm; command -v skopeo']),
  ]);
  const [realNpm = '', realSkopeo = ''] = own.trim().split('\n');
  await mkdir(`${folder}/bin`);
  for (const [name, text] of Object.entries({ npm: NPM, sudo: SUDO, skopeo: SKOPEO, gh: GH, helm: HELM })) {
    await writeFile(`${folder}/bin/${name}`, text);
    await chmod(`${folder}/bin/${name}`, 0o755);
  }
  env = {
    PATH: `${folder}/bin:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: folder,
    ...{ CALLS: folder, BUILT: built, REAL_NPM: realNpm, REAL_SKOPEO: realSkopeo, REAL_HELM: helm },
    ...{ OUT: `${folder}/out`, REGISTRY: registry.host, RUNNER_TEMP: folder, GITHUB_ENV: `${folder}/env` },
    ...{ GITHUB_REF_NAME: `v${version}`, GITHUB_ACTOR: registry.auth.username },
    ...{
      GITHUB_SERVER_URL: 'https://code.example.com',
      GITHUB_REPOSITORY: 'Team/podyard',
      GITHUB_REPOSITORY_OWNER: 'Team',
    },
    REGISTRY_AUTH_FILE: `${folder}/auth.json`,
    ...{ npm_config_registry: `http://${npmHost}/`, npm_config_globalconfig: `${folder}/global-npmrc` },
  };
  // The workflow names the public npm. A shell would drop a variable with such a name.
  await writeFile(`${folder}/global-npmrc`, `//${npmHost}/:_authToken=\${NODE_AUTH_TOKEN}\n`);
}, 600_000);
afterAll(async () => {
  npm?.close();
  await registry?.dispose();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Runs one step as the forge does, and takes what it adds to the variables of later ones. */
async function runStep(
  { run: script, env: own = {} }: Step,
  secrets: Record<string, string>,
  more = {},
): Promise<string> {
  const values = Object.entries(own).map(([name, text]) => [
    name,
    text.replace(/^\$\{\{ (?:secrets\.)?([\w.]+) \}\}$/, (_, secret: string) => secrets[secret] ?? ''),
  ]);
  const all = { ...env, ...Object.fromEntries(values), ...more };
  const { stdout, stderr } = await run('bash', ['-e', '-o', 'pipefail', '-c', script!], {
    ...{ cwd: ROOT, env: all, timeout: TIMEOUT_MS, maxBuffer: 2 ** 24 },
  });
  const added = await readFile(env.GITHUB_ENV!, 'utf8').catch(() => '');
  for (const line of added.split('\n').filter(Boolean))
    env[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
  return stdout + stderr;
}

const stepOf = (name: string) => steps.find((step) => step.name === name)!;

test('a tag that is not the version ends it before anything is made', async () => {
  if (!isPossible) return;
  const failed = runStep(
    stepOf('The tag is the version, and the section of the changelog is there'),
    {},
    {
      GITHUB_REF_NAME: 'v9.9.9',
    },
  );
  await expect(failed).rejects.toMatchObject({ stdout: expect.stringContaining('the tag v9.9.9 is not v') });
});

test(
  'its steps make a signed release, and publish image, chart, package and files, each once',
  async () => {
    if (!isPossible) return;
    const { privateKey } = generateKeyPairSync('ed25519');
    const secrets = {
      PODYARD_RELEASE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim(),
      NPM_TOKEN: 'npm-token',
      'github.token': registry.auth.password,
    };
    for (const step of steps) {
      if (step.run !== undefined) await runStep(step, secrets);
      else expect(step.uses).toMatch(/^actions\/(checkout|setup-node)@v\d+$/);
    }
    const { version } = readReleaseFacts();
    const out = env.OUT!;
    const files = await readdir(out);
    expect(files).toEqual(
      expect.arrayContaining(['SHA256SUMS', 'SHA256SUMS.sig', 'podyard.pub', 'install.sh', 'compose.yaml']),
    );
    await expect(access(`${folder}/release-key.pem`)).rejects.toThrow('ENOENT'); // the private key is gone
    expect(await readFile(`${out}/compose.yaml`, 'utf8')).toContain(`${registry.host}/team`);

    const chart = `${folder}/chart`;
    await mkdir(chart);
    await run(
      'sh',
      ['-c', `helm pull "oci://$REGISTRY/team/charts/podyard" --version ${version} --destination ${chart}`],
      { env },
    );
    expect(await readFile(`${chart}/podyard-${version}.tgz`)).toEqual(
      await readFile(`${out}/podyard-chart-${version}.tgz`),
    );
    for (const tag of [version, 'latest']) {
      const { stdout } = await run('skopeo', ['inspect', `docker://${registry.host}/team/podyard:${tag}`], { env });
      expect(JSON.parse(stdout).Labels['org.opencontainers.image.version']).toBe(version);
    }
    expect(published.map(({ path, token }) => ({ path, token }))).toEqual([
      { path: '/podyard', token: 'Bearer npm-token' },
    ]);
    expect(JSON.parse(published[0]!.body)['dist-tags']).toEqual({ latest: version });
    const asked = (await readFile(`${folder}/gh`, 'utf8')).trim().split('\n');
    expect(asked.slice(0, 3)).toEqual(['release', 'create', `v${version}`]);
    expect(asked.filter((word) => word.startsWith('./')).sort()).toEqual(files.map((file) => `./${file}`).sort());
  },
  TIMEOUT_MS,
);

test(
  'without a key and a token the checksums are not signed, and npm gets nothing',
  async () => {
    if (!isPossible) return;
    env.OUT = `${folder}/unsigned`;
    await runStep(stepOf('Make the artifacts'), {});
    expect(await readdir(env.OUT)).not.toContain('SHA256SUMS.sig');
    published.length = 0;
    expect(await runStep(stepOf('Publish the package on npm'), {})).toContain('npm gets nothing');
    expect(published).toEqual([]);
  },
  TIMEOUT_MS,
);

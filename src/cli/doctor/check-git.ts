import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../core/errors.ts';
import { findGitFault } from '../../domain/git-sources/git-program.ts';
import type { Finding } from './finding.ts';

const TIMEOUT_MS = 5_000;
const ADVICE = 'Without it, no endpoint is built from a repository. On Debian or Ubuntu: apt-get install git';

/** Looks for the program with which repositories are read. `path`: that of the server. */
export async function checkGit(path: string): Promise<Finding> {
  const what = 'git';
  try {
    const run = promisify(execFile);
    const { stdout } = await run('git', ['--version'], { env: { PATH: path, LC_ALL: 'C' }, timeout: TIMEOUT_MS });
    const fault = findGitFault(stdout);
    if (fault !== null) return { what, verdict: 'note', found: `the one here ${fault}`, advice: ADVICE };
    const ssh = await run('ssh', ['-V'], { env: { PATH: path }, timeout: TIMEOUT_MS }).catch(() => null);
    const lack = ssh === null ? '; no ssh, which deploy keys need (openssh-client)' : '';
    return { what, verdict: 'ok', found: `${stdout.trim().replace('git version', 'version')}${lack}` };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { what, verdict: 'note', found: isMissing ? 'not installed' : messageOf(error), advice: ADVICE };
  }
}

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The checkout that the release is made from. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');

/** What all artifacts of a release share. */
export interface ReleaseFacts {
  version: string;
  /** The commit; ends in `-changed` if the checkout has changes that are not committed. */
  commit: string;
  /** Who wrote the commit: `Name <address>`. */
  author: string;
  /** The time of the commit, which every file in an artifact has. */
  time: Date;
  /** The files of the checkout that git knows or would add, below ROOT, sorted. */
  files: string[];
}

/** Reads them from package.json and git. Throws outside a git checkout. */
export function readReleaseFacts(): ReleaseFacts {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string };
  const isChanged = git('status', '--porcelain') !== '';
  const listed = git('ls-files', '--cached', '--others', '--exclude-standard', '-z').split('\0');
  const deleted = new Set(git('ls-files', '--deleted', '-z').split('\0'));
  return {
    version,
    commit: git('rev-parse', 'HEAD').trim() + (isChanged ? '-changed' : ''),
    author: git('log', '-1', '--format=%aN <%aE>').trim(),
    time: new Date(Number(git('log', '-1', '--format=%ct')) * 1000),
    files: listed.filter((path) => path !== '' && !deleted.has(path)).sort(),
  };
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 });
}

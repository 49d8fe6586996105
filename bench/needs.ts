import { execFileSync } from 'node:child_process';

/** Something that a benchmark needs is not on this machine. The message says what, and how to get it. */
export class Missing extends Error {}

/** True if the program is in PATH. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Throws `Missing` unless all programs are in PATH. `packages`: Debian's package of each program. */
export function needPrograms(packages: Readonly<Record<string, string>>): void {
  const missing = Object.keys(packages)
    .filter((program) => !isInstalled(program))
    .map((program) => packages[program]);
  if (missing.length > 0) throw new Missing(`needs ${missing.join(' and ')}: apt-get install ${missing.join(' ')}`);
}

import { execFileSync } from 'node:child_process';

/** Returns the words that run Compose: as a plugin of `docker`, or the older program of Debian 12. */
export function composeCommand(): string[] {
  try {
    execFileSync('docker', ['compose', 'version'], { stdio: 'ignore' });
    return ['docker', 'compose'];
  } catch {
    return ['docker-compose'];
  }
}

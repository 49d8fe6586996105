/**
 * Run by the Dockerfile: makes the folder `app` with the installed package, from the repository, unless the context
 * brought one. The embedded PostgreSQL is left out: beside the image there is a real one.
 */
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (!existsSync('app')) {
  const commands = [
    'npm run build',
    'npm pack --ignore-scripts --pack-destination /tmp',
    'mkdir app',
    'cd app && npm install --no-audit --no-fund --omit=dev --omit=optional /tmp/podyard-*.tgz',
  ];
  for (const command of commands) execSync(command, { stdio: 'inherit' });
}
